(* Arrays, and what it means for two values to be the same.

   An array of n elements is a function on the natural numbers that is read below n only; its size stands
   outside, in the relation.  Two arrays are the same value when they agree below n (`Rarr n`).  So a
   statement

       Rarr n R xs xs'  ->  Rarr m S (left xs) (right xs')

   says more than equality: neither side reads beyond the arrays that it is given, for xs and xs' may
   differ there.  Types carry a partial equivalence instead of equality, so that an array type may stand
   where a type variable does: A := arr B and R_A := Rarr n R_B is an ordinary instance (`PER_Rarr`). *)

From Coq Require Export Arith ZArith Bool.
Set Implicit Arguments.

Definition arr (A : Type) := nat -> A.
Definition rel (A : Type) := A -> A -> Prop.

Definition Rarr (A : Type) (n : nat) (R : rel A) : rel (arr A) :=
  fun x y => forall i, i < n -> R (x i) (y i).
Definition Rpair (A B : Type) (R : rel A) (S : rel B) : rel (A * B) :=
  fun p q => R (fst p) (fst q) /\ S (snd p) (snd q).
Definition Rfun (A B : Type) (R : rel A) (S : rel B) : rel (A -> B) :=
  fun f g => forall x y, R x y -> S (f x) (g y).

(* An index function maps the indices below n to indices below n; two are the same that agree there. *)
Definition Rindex (n : nat) : rel (nat -> nat) :=
  fun p q => forall i, i < n -> p i = q i /\ p i < n.

(* A function that is given a size first, on which its type depends. *)
Definition Rsize (A : Type) (R : nat -> rel A) : rel (nat -> A) := fun f g => forall n, R n (f n) (g n).

(* Partial equivalence: symmetric and transitive.  A value is proper when it is related to itself. *)
Definition PER (A : Type) (R : rel A) :=
  (forall x y, R x y -> R y x) /\ (forall x y z, R x y -> R y z -> R x z).

Lemma PER_eq : forall A : Type, PER (@eq A).
Proof. split; congruence. Qed.
Lemma PER_Rarr : forall (A : Type) (R : rel A) n, PER R -> PER (Rarr n R).
Proof. intros A R n [S T]. split; intros x y; [intros H i L | intros w H G i L]; eauto. Qed.
Lemma PER_Rpair : forall (A B : Type) (R : rel A) (S : rel B), PER R -> PER S -> PER (Rpair R S).
Proof. intros A B R S [] []. split; unfold Rpair; intros; intuition eauto. Qed.
Lemma PER_Rfun : forall (A B : Type) (R : rel A) (S : rel B), PER R -> PER S -> PER (Rfun R S).
Proof.
  intros A B R S [S1 T1] [S2 T2]. split; unfold Rfun.
  - intros f g H x y K. apply S2. apply H. apply S1. exact K.
  - intros f g h H G x y K. apply T2 with (g y). apply H; exact K. apply G. apply T1 with x; auto.
Qed.
Lemma PER_Rindex : forall n, PER (Rindex n).
Proof.
  intro n. split; unfold Rindex.
  - intros p q H i L. destruct (H i L). split; congruence.
  - intros p q r H G i L. destruct (H i L). destruct (G i L). split; congruence.
Qed.

Section Symmetry.
  Variables (A : Type) (R : rel A).
  Hypothesis per : PER R.
  Lemma per_sym : forall x y, R x y -> R y x.
  Proof. apply per. Qed.
  Lemma per_trans : forall x y z, R x y -> R y z -> R x z.
  Proof. apply per. Qed.
  Lemma per_left : forall x y, R x y -> R x x.
  Proof. intros. eapply per_trans; eauto using per_sym. Qed.
  Lemma per_right : forall x y, R x y -> R y y.
  Proof. intros. eapply per_trans; eauto using per_sym. Qed.
End Symmetry.
