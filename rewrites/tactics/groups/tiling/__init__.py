"""How a nest is cut into tiles for groups, and who computes a tile.

sizes           the sides of tiles, and what a group has in registers and in local memory
teams           several teams of a group share a tile: each folds its part of every chunk
"""
