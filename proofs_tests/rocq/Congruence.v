(* What the proof of a whole derivation is made of, besides rules and the congruence lemmas of patterns.

   Cells are related by equality, so a value in which no variable is bound is related to itself (`refl_arr`,
   `refl_pair`); of the others a proof is put together as the program is.  A rule is applied in its flat form,
   in which every size is a variable (`exact_instance`). *)

From Coq Require Import Lia Zify NArith.
From Relift Require Export Patterns Laws.
Set Implicit Arguments.

Lemma refl_arr : forall (A : Type) (R : rel A) n, (forall x, R x x) -> forall x, Rarr n R x x.
Proof. intros A R n H x i _. apply H. Qed.
Lemma refl_pair : forall (A B : Type) (R : rel A) (S : rel B),
  (forall x, R x x) -> (forall y, S y y) -> forall p, Rpair R S p p.
Proof. intros A B R S H G p. split; auto. Qed.

Lemma pair_related : forall (A B : Type) (R : rel A) (S : rel B) a a' b b',
  R a a' -> S b b' -> Rpair R S (a, b) (a', b').
Proof. intros. split; auto. Qed.
Lemma fst_of : forall (A B : Type) (R : rel A) (S : rel B) p q, Rpair R S p q -> R (fst p) (fst q).
Proof. intros A B R S p q H. apply H. Qed.
Lemma snd_of : forall (A B : Type) (R : rel A) (S : rel B) p q, Rpair R S p q -> S (snd p) (snd q).
Proof. intros A B R S p q H. apply H. Qed.
Lemma applied : forall (A B : Type) (R : rel A) (S : rel B) f g a b, Rfun R S f g -> R a b -> S (f a) (g b).
Proof. intros; auto. Qed.
Lemma select_related : forall (A : Type) (R : rel A) (b b' : bool) x x' y y',
  b = b' -> R x x' -> R y y' -> R (if b then x else y) (if b' then x' else y').
Proof. intros; subst; destruct b'; auto. Qed.
Lemma vectorize_related : forall (A : Type) (R : rel A) n f g, Rfun R (Rfun R R) f g ->
  Rfun (Rarr n R) (Rfun (Rarr n R) (Rarr n R)) (vectorize f) (vectorize g).
Proof. intros A R n f g H x y X v w V i L. apply H; auto. Qed.
(* a scalar function, one argument after the other *)
Lemma equal_applied : forall (A B : Type) (f g : A -> B) a b, f = g -> a = b -> f a = g b.
Proof. intros; subst; auto. Qed.

(* What an operator obeys, it obeys lane by lane. *)
Lemma vec_associative : forall (A : Type) (R : rel A) n op,
  associative R op -> associative (Rarr n R) (vectorize op).
Proof. intros A R n op H a b c X Y W i L. apply H; auto. Qed.
Lemma vec_commutative : forall (A : Type) (R : rel A) n op,
  commutative R op -> commutative (Rarr n R) (vectorize op).
Proof. intros A R n op H a b X Y i L. apply H; auto. Qed.
Lemma vec_idempotent : forall (A : Type) (R : rel A) n op,
  idempotent R op -> idempotent (Rarr n R) (vectorize op).
Proof. intros A R n op H a X i L. apply H; auto. Qed.
Lemma vec_neutral : forall (A : Type) (R : rel A) n op z,
  neutral R op z -> neutral (Rarr n R) (vectorize op) (repeat z).
Proof. intros A R n op z H a X. split; intros i L; apply H; auto. Qed.
Lemma vec_distributive : forall (A : Type) (R : rel A) n op plus,
  distributive R op plus -> distributive (Rarr n R) (vectorize op) (vectorize plus).
Proof. intros A R n op plus H a b c X Y W. split; intros i L; apply H; auto. Qed.
Lemma vec_telescoping : forall (A : Type) (R : rel A) n op plus,
  telescoping R op plus -> telescoping (Rarr n R) (vectorize op) (vectorize plus).
Proof. intros A R n op plus H a b c X Y W i L. apply H; auto. Qed.

(* The flat form of a rule from the rule itself; over Z a difference of sizes is one of whole numbers. *)
Ltac exact_instance own := first
  [ apply own; assumption
  | let own' := fresh in pose proof own as own';
    repeat rewrite <- Nat2Z.inj_sub in own' by assumption; apply own'; assumption ].

(* What is asked of index functions, tried at each index. *)
Fixpoint all_below (n : nat) (f : nat -> bool) : bool :=
  match n with O => true | S k => andb (f k) (all_below k f) end.
Lemma at_each : forall n f, all_below n f = true -> forall i, i < n -> f i = true.
Proof.
  induction n as [| n each]; intros f H i L; [lia |]. simpl in H. apply andb_prop in H. destruct H as [here below].
  destruct (Nat.eq_dec i n) as [E | E]; [subst; exact here | apply each; [exact below | lia]].
Qed.
Lemma index_tried : forall n p, all_below n (fun i => p i <? n) = true -> Rindex n p p.
Proof. intros n p H i L. split; [reflexivity |]. apply Nat.ltb_lt. exact (@at_each _ _ H _ L). Qed.
Lemma inverse_tried : forall n p q,
  all_below n (fun i => andb (p (q i) =? i) (q (p i) =? i)) = true -> inverse n p q.
Proof.
  intros n p q H i L. assert (here := @at_each _ _ H _ L). simpl in here. apply andb_prop in here.
  split; apply Nat.eqb_eq; apply here.
Qed.
Lemma bijective_tried : forall n p,
  all_below n (fun i => andb (andb (position p n i <? n) (p (position p n i) =? i)) (position p n (p i) =? i)) = true ->
  bijective n p.
Proof.
  intros n p H j L. assert (here := @at_each _ _ H _ L). simpl in here.
  apply andb_prop in here. destruct here as [here _]. apply andb_prop in here. destruct here as [below same].
  exists (position p n j). split; [apply Nat.ltb_lt; exact below |]. split; [apply Nat.eqb_eq; exact same |].
  intros k K E. assert (there := @at_each _ _ H _ K). simpl in there. apply andb_prop in there. destruct there as [_ there].
  apply Nat.eqb_eq in there. rewrite E in there. symmetry. exact there.
Qed.

(* Sizes that are numbers, compared in N: the proof is as small as what it says, where that of `lia` rests on a
   library that takes longer to audit than the rest of a theorem. *)
Lemma add_in_N : forall a b x y, a = N.to_nat x -> b = N.to_nat y -> a + b = N.to_nat (x + y).
Proof. intros a b x y -> ->. symmetry. apply N2Nat.inj_add. Qed.
Lemma mul_in_N : forall a b x y, a = N.to_nat x -> b = N.to_nat y -> a * b = N.to_nat (x * y).
Proof. intros a b x y -> ->. symmetry. apply N2Nat.inj_mul. Qed.
Lemma sub_in_N : forall a b x y, a = N.to_nat x -> b = N.to_nat y -> a - b = N.to_nat (x - y).
Proof. intros a b x y -> ->. symmetry. apply N2Nat.inj_sub. Qed.
Lemma equal_in_N : forall a b x y, a = N.to_nat x -> b = N.to_nat y -> (x =? y)%N = true -> a = b.
Proof. intros a b x y -> -> H. apply N.eqb_eq in H. congruence. Qed.
Lemma less_in_N : forall a b x y, a = N.to_nat x -> b = N.to_nat y -> (x <? y)%N = true -> a < b.
Proof.
  intros a b x y -> -> H. apply N.ltb_lt in H. unfold N.lt in H.
  apply Nat.compare_lt_iff. rewrite <- N2Nat.inj_compare. exact H.
Qed.
Lemma at_most_in_N : forall a b x y, a = N.to_nat x -> b = N.to_nat y -> (x <=? y)%N = true -> a <= b.
Proof.
  intros a b x y -> -> H. apply N.leb_le in H. unfold N.le in H.
  apply Nat.compare_le_iff. rewrite <- N2Nat.inj_compare. exact H.
Qed.
Ltac as_number := lazymatch goal with
  | |- N.to_nat ?k = _ => exact (eq_refl (N.to_nat k))
  | |- _ + _ = _ => refine (@add_in_N _ _ _ _ _ _); as_number
  | |- _ * _ = _ => refine (@mul_in_N _ _ _ _ _ _); as_number
  | |- _ - _ = _ => refine (@sub_in_N _ _ _ _ _ _); as_number
  | |- ?k = _ => exact (eq_sym (Nat2N.id k))
  end.
Ltac compared_in_N :=
  lazymatch goal with  (* unification would compute one number to see whether it is another *)
  | |- _ = _ => refine (@equal_in_N _ _ _ _ _ _ _)
  | |- _ < _ => refine (@less_in_N _ _ _ _ _ _ _)
  | |- _ <= _ => refine (@at_most_in_N _ _ _ _ _ _ _)
  end;
  [ as_number | as_number | vm_compute; reflexivity ].

(* What is asked of sizes that are numbers, and of index functions at such. *)
Ltac holds_of_numbers := first
  [ compared_in_N
  | lia
  | let i := fresh in let L := fresh in intros i L; split; [ reflexivity | in_bounds ]
  | let i := fresh in let L := fresh in intros i L; split; in_bounds
  | backwards
  | vm_compute; reflexivity ]
with in_bounds := first
  [ lia
  | apply Nat.mod_upper_bound; lia
  | zify; Z.div_mod_to_equations; nia ]
with backwards := lazymatch goal with
  | |- bijective ?n _ =>
      let j := fresh in let L := fresh in intros j L; exists (n - 1 - j); repeat split; intros; lia
  end.
Ltac holds_at_each_index := first
  [ holds_of_numbers
  | apply index_tried; vm_compute; reflexivity
  | apply inverse_tried; vm_compute; reflexivity
  | apply bijective_tried; vm_compute; reflexivity ].
