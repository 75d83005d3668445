"""One theorem for a whole derivation: its source and its result are equal, checked by the Rocq prover.

`sizes` makes the programs along a derivation speak of sizes by name; `flat` states rules so that their sizes are
variables; `writer` and `congruence` write the proof of each step as a term; `composed` puts the steps together,
`result` states what is proved, from source and result alone; `proving` runs the prover and keeps what it has done.
"""
