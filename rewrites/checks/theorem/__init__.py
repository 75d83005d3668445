"""One theorem for a whole derivation: its source and its result are equal, checked by the Rocq prover.

instances   a derivation at sizes that have nothing in common by chance; `sizes` gives them names
flat        rules, stated so that their sizes are variables; `applied`: one in a program
writer      terms as text of Rocq; `congruence`: below binders, by lemmas of their own
steps       the proof of a step; `chains`: steps as a tree
composed    all of it as one theorem
result      what is proved, from source and result alone
proving     the prover is run; `store` keeps what it has checked, `shared` has others run it
"""
