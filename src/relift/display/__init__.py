"""How things look: what has a display says it in a few kinds of blocks, and one printer makes HTML of them.

    blocks      the kinds of blocks
    displayed   `Displayed`, which notebooks ask
    cells       values as nested cells, read from their text
    rooflines   a device's two roofs and programs below them, as SVG
    graphs      classes of nodes and what they use, as SVG
    printing    blocks as HTML; every text is escaped there, and nowhere else

The notebook, the workbench (`relift.web`) and the pages that verbs write show the same blocks.
"""
