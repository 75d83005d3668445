(* The laws that a rule may ask of its operators and index functions, up to the relation of the type. *)

From Relift Require Export Arrays.
Set Implicit Arguments.

Section Laws.
  Variables (A : Type) (R : rel A) (op : A -> A -> A).
  Definition associative :=
    forall a b c, R a a -> R b b -> R c c -> R (op a (op b c)) (op (op a b) c).
  Definition commutative := forall a b, R a a -> R b b -> R (op a b) (op b a).
  Definition neutral (z : A) := forall a, R a a -> R (op z a) a /\ R (op a z) a.
  Definition idempotent := forall a, R a a -> R (op a a) a.
  (* op over plus, on both sides *)
  Definition distributive (plus : A -> A -> A) :=
    forall a b c, R a a -> R b b -> R c c ->
      R (op a (plus b c)) (plus (op a b) (op a c)) /\ R (op (plus b c) a) (plus (op b a) (op c a)).
  (* op telescopes over plus, by way of any other value *)
  Definition telescoping (plus : A -> A -> A) :=
    forall a b c, R a a -> R b b -> R c c -> R (op a c) (plus (op a b) (op b c)).
End Laws.

(* A permutation of the indices below n; it maps them to such already. *)
Definition bijective (n : nat) (p : nat -> nat) :=
  forall j, j < n -> exists i, i < n /\ p i = j /\ forall k, k < n -> p k = j -> k = i.
Definition inverse (n : nat) (p q : nat -> nat) :=
  forall i, i < n -> p (q i) = i /\ q (p i) = i.

(* A refinement fixes cells that its left side leaves unspecified, so it holds in one direction only.  Its
   types carry a relation that need not be symmetric: R x y says that y is x where x is specified.  An
   unspecified value is refined by every value; what is computed from it may stay unspecified. *)
Definition refines (A : Type) (R : rel A) :=
  (forall x y, R x y -> R x x /\ R y y) /\ (forall x y z, R x y -> R y z -> R x z).
Definition unspecified (A : Type) (R : rel A) (x : A) := forall y, R y y -> R x y.

Lemma refines_Rarr : forall (A : Type) (R : rel A) n, refines R -> refines (Rarr n R).
Proof.
  intros A R n [Q T]. split; [intros x y H; split; intros i L; apply (Q (x i) (y i)); auto |].
  intros x y w H G i L. eapply T; [apply H | apply G]; auto.
Qed.
Lemma refines_Rpair : forall (A B : Type) (R : rel A) (S : rel B),
  refines R -> refines S -> refines (Rpair R S).
Proof.
  intros A B R S [Q T] [Q' T']. split.
  - intros x y [H G]. destruct (Q _ _ H). destruct (Q' _ _ G). split; split; auto.
  - intros x y w [H G] [H' G']. split; [eapply T | eapply T']; eauto.
Qed.
Lemma refines_eq : forall A : Type, refines (@eq A).
Proof. split; [auto | congruence]. Qed.

(* Where a refinement is defined at one value, it is at those that refine it. *)
Definition implies (P Q : Prop) : Prop := P -> Q.
