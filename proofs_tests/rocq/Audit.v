(* What a file of proofs hands on: a theorem, or the word that its proof stopped. *)

Inductive outcome (P : Prop) := holds (proof : P) | stopped.
Arguments holds {P}.
Arguments stopped {P}.

(* The theorem itself; of a proof that stopped only True. *)
Definition theorem (P : Prop) (o : outcome P) : match o with holds _ => P | stopped => True end :=
  match o with holds proof => proof | stopped => I end.
Arguments theorem {P}.
