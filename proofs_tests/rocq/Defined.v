(* The tactic `keep_defined`, which proves that what one side of a rule is defined at, the other is, too.

   Both are quantified over indices.  What is asked at some indices follows from what is known at others:
   these are found by the bounds.  An index below a * b has two digits, two indices below a and b are one
   below a * b, and so on. *)

From Coq Require Import List.
From Relift Require Export Tactic.
Set Implicit Arguments.

Lemma every_and : forall n (P Q : nat -> Prop), every n (fun i => P i /\ Q i) -> every n P /\ every n Q.
Proof. intros n P Q H. split; intros i L; apply (H i L). Qed.
Lemma every_every_and : forall n m (P Q : nat -> nat -> Prop),
  every n (fun i => every m (fun j => P i j /\ Q i j)) ->
  every n (fun i => every m (P i)) /\ every n (fun i => every m (Q i)).
Proof. intros n m P Q H. split; intros i L j K; apply (H i L j K). Qed.
Lemma in_range_related : forall n, Rfun eq iff (in_range n) (in_range n).
Proof. intros n x y E. subst. tauto. Qed.
Lemma in_range_implied : forall n, Rfun eq implies (in_range n) (in_range n).
Proof. intros n x y E. subst. unfold implies. tauto. Qed.
Lemma in_range_below : forall n i, i < n -> in_range n (Z.of_nat i).
Proof. unfold in_range. intros. lia. Qed.

(* What is asked at: an index below a bound; `asked` are those that the goal quantifies over. *)
Definition point (i n : nat) : Prop := i < n.
Definition asked (i n : nat) : Prop := i < n.
(* The bound of a quantifier of either side. *)
Definition bound (n : nat) : Prop := True.

Lemma point_pair : forall i j a b n, n = a * b -> asked i a -> asked j b -> point (i * b + j) n.
Proof. unfold asked, point. intros. subst. apply digits_lt; auto. Qed.
Lemma point_triple : forall i j k a b c n, n = a * b * c -> asked i a -> asked j b -> asked k c ->
  point ((i * b + j) * c + k) n.
Proof. unfold asked, point. intros. subst. apply digits_lt; auto. apply digits_lt; auto. Qed.

Ltac opened_domains := unfold
  partial_reduce_defined, scatter_indices_defined, scatter_defined, binary_search_defined, map_defined,
  fold_defined, iterate_defined, let_defined, generate_defined, vectorize_defined, gather_indices_defined,
  gather_defined in *.

Ltac note_bounds := repeat match goal with
  | |- context [every ?n _] => lazymatch goal with _ : bound n |- _ => fail | _ => assert (bound n) by exact I end
  | H : context [every ?n _] |- _ =>
      lazymatch goal with _ : bound n |- _ => fail | _ => assert (bound n) by exact I end
  end.
Ltac ranges := repeat match goal with
  | |- context [in_range ?n] => know (Rfun eq iff (in_range n) (in_range n)); [ apply in_range_related |]
  end.
Ltac apart := repeat match goal with
  | H : _ /\ _ |- _ => destruct H
  | H : every _ (fun i => _ /\ _) |- _ => apply every_and in H
  | H : every _ (fun i => every _ (fun j => _ /\ _)) |- _ => apply every_every_and in H
  | H : True |- _ => clear H
  | |- _ /\ _ => split
  | |- every ?n _ => let i := fresh "i" in let L := fresh "L" in intros i L;
      assert (asked i n) by exact L; assert (point i n) by exact L; reduced
  | |- True => exact I
  | |- _ -> _ => intro
  end.

(* ---- where to ask ---- *)

Ltac pointed i n := lazymatch goal with _ : point i n |- _ => fail | _ => assert (point i n) end.
(* A variable that is a factor of n occurs in it: a quick test before `ring`. *)
Ltac may_divide a n := first [ is_var a; lazymatch n with context [a] => idtac end | assert_fails (is_var a) ].
Ltac composed := repeat match goal with
  | B : bound ?n, P : asked ?i ?a, Q : asked ?j ?b |- _ =>
      lazymatch n with context [_ * _] => idtac end; lazymatch i with j => fail | _ => idtac end;
      may_divide a n; may_divide b n;
      pointed (i * b + j) n; [ apply (@point_pair i j a b n ltac:(ring) P Q) |]
  | B : bound ?n, P : asked ?i ?a, Q : asked ?j ?b, S : asked ?k ?c |- _ =>
      lazymatch n with context [_ * _] => idtac end;
      may_divide a n; may_divide b n; may_divide c n;
      lazymatch i with j => fail | k => fail | _ => idtac end; lazymatch j with k => fail | _ => idtac end;
      pointed ((i * b + j) * c + k) n; [ apply (@point_triple i j k a b c n ltac:(ring) P Q S) |]
  end.
Lemma digits : forall i a n m, a = n * m -> i < a -> exists q r, q < n /\ r < m /\ i = q * m + r.
Proof.
  intros. subst. exists (i / m), (i mod m). split; [apply div_lt; auto |].
  split; [apply Nat.mod_upper_bound; destruct m; lia | symmetry; apply divided].
Qed.
(* i, which is asked at, as the two digits that it has below n * m. *)
Ltac in_digits i a P n m :=
  lazymatch a with context [_ * _] => idtac end; may_divide n a; may_divide m a;
  let E := fresh in assert (E : a = n * m) by ring;
  let q := fresh i in let r := fresh i in let Q := fresh in let R := fresh in let D := fresh in
  destruct (@digits i a n m E P) as [q [r [Q [R D]]]]; clear E;
  repeat match goal with H : asked i _ |- _ => clear H | H : point i _ |- _ => clear H end; subst i;
  assert (asked q n) by exact Q; assert (asked r m) by exact R;
  assert (point q n) by exact Q; assert (point r m) by exact R; reduced.

(* ---- what is known there is what is asked ---- *)

(* x ~ y, where indices differ by linear arithmetic at most. *)
Ltac quick :=
  lazymatch goal with
  | |- @eq nat _ _ => first [ reflexivity | lia ]
  | |- @eq Z _ _ => first [ reflexivity | lia ]
  | |- _ < _ => first [ assumption | lia | index_below | bound_digits; lia ]
  | |- Rarr _ _ _ _ => first [ eassumption | intros ? ?; reduced; quick ]
  | |- Rpair _ _ _ _ => first [ eassumption | split; reduced; quick ]
  | |- Rfun _ _ _ _ => first [ eassumption | intros ? ? ?; both_ways; reduced; quick ]
  | |- _ => first [ eassumption | reflexivity | quick_spine ]
  end
with quick_spine := first [ eassumption | quick_application ]
with quick_application :=
  lazymatch goal with
  | |- ?R (fst ?p) (fst ?q) => eapply (@fst_related _ _ R _ p q); quick
  | |- ?R (snd ?p) (snd ?q) => eapply (@snd_related _ _ _ R p q); quick
  | |- ?R (?f ?a) (?g ?b) =>
      lazymatch type of a with
      | nat => eapply (@at_related _ _ R f g a b); [ quick_spine | quick | quick ]
      | _ => eapply (@apply_related _ _ _ R f g a b); [ quick_spine | quick ]
      end
  end.

(* K : D x, the goal is D' y: they are related. *)
Ltac close K by_relating :=
  lazymatch type of K with ?P => lazymatch goal with |- ?G =>
    first [ exact K
          | match goal with
            | E : iff P G |- _ => exact (proj1 E K)
            | E : iff G P |- _ => exact (proj2 E K)
            | E : implies P G |- _ => exact (E K)
            end
          | lazymatch goal with
            | _ : refines _ |- _ =>
                let E := fresh in assert (E : implies P G) by (clear K; solve [ by_relating tt ]); exact (E K)
            | _ => let E := fresh in assert (E : iff P G) by (clear K; solve [ by_relating tt ]); exact (proj1 E K)
            end ]
  end end.

(* Indices below n: those with this bound, and then what else there is. *)
Ltac exactly n k := match goal with P : point ?i n |- _ => k i end.
Ltac anywhere n k := match goal with
  | P : point ?i n |- _ => k i
  | |- context [?x ?e] =>
      lazymatch type of e with nat => is_var x; lazymatch e with S _ => fail | _ => k e end end
  | P : point ?i ?m |- _ => lazymatch m with n => fail | _ => k i end
  | B : bound ?m, P : asked ?i ?a |- _ =>
      let E := fresh in assert (E : m + a <= n) by lia; clear E; k (m + i)
  | P : asked ?i ?a, R : Rindex ?a ?p _ |- _ => k (p i)
  | P : asked ?i ?a |- _ => k (n - 1 - i)
  | P : asked ?i ?a |- _ => k (S i)
  | |- context [iterate ?m _ _] => k m
  | |- context [fold _ _ ?m _] => k m
  | left : nat, P : asked ?i ?a |- _ => k (left + i)
  | _ => k 0
  end.
Ltac below_bound := first [ assumption | lia | solve [ index_below ] | solve [ bound_digits; lia ] ].
Ltac use_at H candidates by_relating := lazymatch type of H with
  | every ?n ?P =>
      candidates n ltac:(fun c =>
        let L := fresh in assert (L : c < n) by below_bound;
        let K := fresh in pose proof (H c L) as K; cbv beta in K; use_at K candidates by_relating)
  | _ => close H by_relating
  end.
Ltac use_any candidates by_relating := match goal with H : every _ _ |- _ =>
    solve [ use_at H candidates by_relating ]
  end.
Ltac use_data := match goal with H : ?P |- _ =>
    lazymatch type of P with Prop => idtac end;
    lazymatch P with every _ _ => fail | iff _ _ => fail | _ < _ => fail | point _ _ => fail | asked _ _ => fail
    | bound _ => fail | PER _ => fail | Rfun _ _ _ _ => fail | Rarr _ _ _ _ => fail | _ => idtac end;
    solve [ close H ltac:(fun _ => first [ quick | relate ]) ]
  end.

(* ---- a permutation reaches every index ---- *)

Ltac reached := match goal with
  | B : bijective ?n ?p, L : ?j < ?n |- exists i, i < ?n /\ Z.of_nat (?p i) = Z.of_nat ?j =>
      let i := fresh in let I := fresh in let E := fresh in
      destruct (B j L) as [i [I [E _]]]; exists i; split; [ exact I | f_equal; exact E ]
  | B : bijective ?n ?p, C : bijective ?n ?q, L : ?j < ?n |- exists i, i < ?n /\ Z.of_nat (?q (?p i)) = Z.of_nat ?j =>
      let i := fresh in let I := fresh in let E := fresh in
      let k := fresh in let K := fresh in let F := fresh in
      destruct (C j L) as [i [I [E _]]]; destruct (B i I) as [k [K [F _]]];
      exists k; split; [ exact K | rewrite F, E; reflexivity ]
  | V : inverse ?n ?p ?q, L : ?j < ?n |- exists i, i < ?n /\ Z.of_nat (?p i) = Z.of_nat ?j =>
      exists (q j); split; [ indices | f_equal; apply V; exact L ]
  | V : inverse ?n ?q ?p, L : ?j < ?n |- exists i, i < ?n /\ Z.of_nat (?p i) = Z.of_nat ?j =>
      exists (q j); split; [ indices | f_equal; apply V; exact L ]
  | L : ?j < ?n |- exists i, i < ?n /\ Z.of_nat (@?g i mod ?n) = Z.of_nat ?j =>
      let t := eval cbn [Nat.add] in (g 0) in
      let i := fresh in let I := fresh in let E := fresh in
      destruct (@rotation_bijective g t n ltac:(intros; cbv beta; lia) j L) as [i [I [E _]]];
      exists i; split; [ exact I | f_equal; exact E ]
  | L : ?j < ?n |- exists i, i < ?n /\ _ = _ => exists (n - 1 - j); split; [ lia | solve [ f_equal; indices | lia ] ]
  | P : point (?q * ?m + ?r) _ |- exists i, i < _ /\ _ = _ =>
      exists (r * m + q); split; [ below_bound | solve [ f_equal; indices ] ]
  | A : asked ?q ?k, B : asked ?r ?m |- exists i, i < _ /\ _ = _ =>
      exists (r * k + q); split; [ solve [ nia ] | solve [ f_equal; indices ] ]
  | V : inverse ?n ?a ?b, P : Rindex ?n ?p ?q, L : ?j < ?n |- exists i, i < ?n /\ Z.of_nat (?q i) = Z.of_nat ?j =>
      (* the second of a pair, of which the first is undone *)
      let u := lazymatch p with a => b | b => a end in
      exists (u j); split; [ index_below | rewrite <- (proj1 (P (u j) ltac:(index_below))); f_equal; apply V; exact L ]
  | L : ?j < ?n |- exists i, i < ?n /\ _ = _ => exists j; split; [ exact L | solve [ f_equal; indices ] ]
  end.

Ltac only_zero := repeat match goal with
  | P : asked ?i 1 |- _ =>
      assert (i = 0) by (unfold asked in P; lia);
      repeat match goal with H : point i _ |- _ => clear H end; clear P; subst i; cbn [iterate fold]; reduced
  end.
Ltac nothing_asked := exfalso; match goal with P : asked _ _ |- _ => unfold asked in P; lia end.
Ltac in_range_leaf := lazymatch goal with
  | |- in_range _ (Z.of_nat _) => apply in_range_below; first [ solve [ index_below ] | indices ]
  | |- in_range _ _ => unfold in_range; split; solve [ lia | nia ]
  end.
(* Each way to split what is asked at, and then no further question. *)
Ltac splitting k := match goal with
  | _ => k tt
  | P : asked ?i ?a, B : bound ?n, C : bound ?m |- _ =>
      is_var i; lazymatch n with 1 => fail | a => fail | _ => idtac end;
      lazymatch m with 1 => fail | a => fail | _ => idtac end;
      in_digits i a P n m; splitting k
  end.
Ltac cases_of_sum k := match goal with
  | P : asked ?i (?a + 1) |- _ =>
      is_var i; destruct (Nat.eq_dec i a);
      [ repeat match goal with H : point i _ |- _ => clear H end; clear P; subst i; reduced; first [ use_data | k tt ]
      | assert (point i a) by (unfold point, asked in *; lia); k tt ]
  | P : asked ?i ?n, A : bound ?a, B : bound ?b |- _ =>
      let E := fresh in assert (E : n = a + b) by lia; clear E;
      destruct (Nat.lt_ge_cases i a);
      [ assert (point i a) by assumption; k tt
      | assert (point (i - a) b) by (unfold point, asked in *; lia); k tt ]
  end.
Ltac known := first
  [ splitting ltac:(fun _ => composed; use_any exactly ltac:(fun _ => quick))
  | splitting ltac:(fun _ => composed; use_any anywhere ltac:(fun _ => quick))
  | composed; use_any exactly ltac:(fun _ => relate)
  | splitting ltac:(fun _ => composed; use_any anywhere ltac:(fun _ => relate)) ].
Ltac leaf := first
  [ assumption
  | in_range_leaf
  | reached
  | use_data
  | nothing_asked
  | known
  | cases_of_sum ltac:(fun _ => known) ].
Ltac keep_defined_start :=
  lazymatch goal with |- ?G => try (is_const G; unfold G) end;
  intros; both_ways; laws_of_pairs; opened_domains; opened; reduced_all; note_bounds; apart; ranges;
  try only_zero.
(* ---- what searches, sorts and shrinks: related parts are defined at the same inputs ---- *)

Lemma reduce_while_defined_related : forall (A B : Type) (R : rel A) (S : rel B) f g Df Dg p q Dp Dq z w n x y,
  Rfun S (Rfun R S) f g -> Rfun S (Rfun R iff) Df Dg -> Rfun S (Rfun R eq) p q -> Rfun S (Rfun R iff) Dp Dq ->
  S z w -> Rarr n R x y -> reduce_while_defined f Df p Dp z n x -> reduce_while_defined g Dg q Dq w n y.
Proof.
  intros A B R S f g Df Dg p q Dp Dq z w n x y F DF P DP Z X. unfold reduce_while_defined.
  assert (G : forall k i z w, i + k <= n -> S z w -> reduce_while_defined_from f Df p Dp z i k x ->
    reduce_while_defined_from g Dg q Dq w i k y).
  { induction k; simpl; intros i a b L Q H; auto. destruct H as [H1 H2].
    assert (E : R (x i) (y i)) by (apply X; lia). split; [apply (DP a b Q _ _ E); exact H1 |].
    rewrite <- (P a b Q _ _ E). intro T. destruct (H2 T) as [H3 H4]. split; [apply (DF a b Q _ _ E); exact H3 |].
    apply (IHk (Datatypes.S i) (f a (x i))); auto. lia. apply F; auto. }
  intros. eapply G; eauto.
Qed.
Lemma insert_defined_same : forall f g (D E : nat -> nat -> Prop) n i l, i < n ->
  (forall i j, i < n -> j < n -> f i j = g i j) -> (forall i j, i < n -> j < n -> D i j -> E i j) ->
  (forall j, In j l -> j < n) -> insert_defined f D i l -> insert_defined g E i l.
Proof.
  induction l as [| a l IH]; simpl; intros L F H I K; auto. destruct K as [P Q].
  split; [apply H; auto |]. rewrite <- F by auto. intro T. apply IH; auto.
Qed.
Lemma insertion_sort_seq_defined_related : forall (A : Type) (R : rel A) f g D E n x y,
  Rfun R (Rfun R eq) f g -> Rfun R (Rfun R iff) D E -> Rarr n R x y ->
  insertion_sort_seq_defined f D n x -> insertion_sort_seq_defined g E n y.
Proof.
  intros A R f g D E n x y F DE X H i L. specialize (H i L). cbv beta in *.
  assert (Same : forall a b, a < n -> b < n -> f (x a) (x b) = g (y a) (y b)) by (intros; apply F; apply X; auto).
  rewrite <- (@order_same (fun i j => f (x i) (x j)) (fun i j => g (y i) (y j)) i) by (intros; apply Same; lia).
  eapply (@insert_defined_same _ _ _ _ n); [exact L | | | | exact H]; cbv beta; auto.
  - intros a b La Lb Q. apply (DE _ _ (X a La) _ _ (X b Lb)). exact Q.
  - intros j J. apply (proj2 (order_shape _ i)) in J. lia.
Qed.
Lemma linear_search_defined_related : forall (A : Type) (R : rel A) f g D E n x y,
  Rfun R eq f g -> Rfun R iff D E -> Rarr n R x y ->
  linear_search_defined f D n x -> linear_search_defined g E n y.
Proof.
  intros A R f g D E n x y F DE X H i L Q. cbv beta in *. apply (DE _ _ (X i L)). apply H; auto.
  intros j J. cbv beta. rewrite (F _ _ (X j ltac:(lia))). apply Q. exact J.
Qed.
Lemma binary_search_defined_related : forall (A : Type) (R : rel A) f g D E n x y,
  Rfun R eq f g -> Rfun R iff D E -> Rarr n R x y ->
  binary_search_defined f D n x -> binary_search_defined g E n y.
Proof.
  intros A R f g D E n x y F DE X [H G]. split.
  - intros i L. apply (DE _ _ (X i L)). apply H. exact L.
  - intros j L i K. cbv beta. rewrite <- (F _ _ (X j L)), <- (F _ _ (X i ltac:(lia))). apply (G j L i K).
Qed.
Lemma iterate_sizes_defined_related : forall (A : Type) (R : rel A) m b f g D E k x y,
  (forall l, Rfun (Rarr (l * b) R) (Rarr l R) (f l) (g l)) -> (forall l, Rfun (Rarr (l * b) R) iff (D l) (E l)) ->
  Rarr (k * b ^ m) R x y -> iterate_sizes_defined m b f D k x -> iterate_sizes_defined m b g E k y.
Proof.
  induction m; simpl; intros b f g D E k x y F DE X H; auto. destruct H as [H G].
  assert (X' : Rarr (k * b ^ m * b) R x y) by (rewrite <- Nat.mul_assoc, (Nat.mul_comm (b ^ m)); exact X).
  split; [apply (DE (k * b ^ m) _ _ X'); exact H |]. apply (IHm b f g D E k _ _ F DE (F _ _ _ X') G).
Qed.
Lemma scatter_defined_related : forall n p q, Rindex n p q ->
  scatter_defined (fun i => Z.of_nat (p i)) n -> scatter_defined (fun i => Z.of_nat (q i)) n.
Proof.
  intros n p q P [H G]. split.
  - intros i L. cbv beta. rewrite <- (proj1 (P i L)). apply (H i L).
  - intros j L. cbv beta in *. destruct (G j L) as [i [I E]]. exists i. rewrite <- (proj1 (P i I)). auto.
Qed.
Lemma scatter_indices_defined_related : forall m n x y, Rarr m eq x y ->
  scatter_indices_defined x m n -> scatter_indices_defined y m n.
Proof.
  intros m n x y X [H G]. split.
  - intros i L. rewrite <- (X i L). apply (H i L).
  - intros i L j K. cbv beta. rewrite <- (X i L), <- (X j ltac:(lia)). apply (G i L j K).
Qed.
Ltac related_domains :=
  lazymatch goal with |- ?G => try (is_const G; unfold G) end; intros; unfold Rsize in *;
  repeat match goal with H : _ /\ _ |- _ => destruct H | H : iff _ _ |- _ => destruct H | |- _ /\ _ => split end;
  first
  [ solve [ auto ]
  | eapply reduce_while_defined_related; eassumption
  | eapply insertion_sort_seq_defined_related; eassumption
  | eapply linear_search_defined_related; eassumption
  | eapply binary_search_defined_related; eassumption
  | eapply iterate_sizes_defined_related; eassumption
  | eapply iterate_sizes_defined_related;
    [ intro; rewrite Nat.mul_comm; auto | intro; rewrite Nat.mul_comm; auto
    | rewrite Nat.mul_comm; eassumption | eassumption ]
  | eapply scatter_indices_defined_related; eassumption
  | eapply scatter_defined_related; eassumption ].
Ltac keep_defined := first [ solve [ related_domains ] | keep_defined_start; leaf ].

(* What is left to show, for a person to see. *)
Ltac keep_defined_opened := keep_defined_start.
