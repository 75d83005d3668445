(* Lemmas on the patterns that choose positions: filter, sort, search, scatter. *)

From Coq Require Import Lia List.
From Relift Require Export Patterns Laws Indices.
Set Implicit Arguments.

Lemma find_same : forall (f g : nat -> bool) l, (forall i, In i l -> f i = g i) ->
  List.find f l = List.find g l.
Proof.
  induction l as [| a l IH]; simpl; intros H; auto.
  rewrite (H a) by auto. rewrite IH by auto. reflexivity.
Qed.

Section Related.
  Variables (A : Type) (R : rel A).

  Lemma kept_related : forall p q n x y, Rfun R eq p q -> Rarr n R x y -> kept p n x = kept q n y.
  Proof.
    intros p q n x y P X. apply filter_ext_in. intros i I. apply P. apply X. apply in_seq in I. lia.
  Qed.
  Lemma kept_below : forall (p : A -> bool) n x i j, nth_error (kept p n x) i = Some j -> j < n.
  Proof.
    intros p n x i j E. apply nth_error_In in E. apply filter_In in E. destruct E as [E _].
    apply in_seq in E. lia.
  Qed.
  Lemma filter_seq_related : forall p q c d n x y, Rfun R eq p q -> R c d -> Rarr n R x y ->
    Rpair eq (Rarr n R) (filter_seq p c n x) (filter_seq q d n y).
  Proof.
    intros p q c d n x y P C X. unfold filter_seq. rewrite <- (kept_related P X). split; simpl; auto.
    intros i _. destruct (nth_error (kept p n x) i) eqn:E; auto. apply X. eapply kept_below; eauto.
  Qed.

  Lemma insert_same : forall f g n i l, (forall i j, i < n -> j < n -> f i j = g i j) -> i < n ->
    (forall j, In j l -> j < n) -> insert f i l = insert g i l.
  Proof.
    induction l as [| a l IH]; simpl; intros H L I; auto.
    rewrite H by auto. destruct (g i a); auto. rewrite IH by auto. reflexivity.
  Qed.
  Lemma insert_in : forall f i j l, In j (insert f i l) -> j = i \/ In j l.
  Proof.
    induction l as [| a l IH]; simpl; intros H.
    - destruct H as [H | []]; auto.
    - destruct (f i a); simpl in H; destruct H as [H | H]; auto. apply IH in H. intuition.
  Qed.
  Lemma insert_length : forall f i l, length (insert f i l) = S (length l).
  Proof. induction l; simpl; auto. destruct (f i a); simpl; auto. Qed.
  Lemma order_same : forall f g n, (forall i j, i < n -> j < n -> f i j = g i j) -> order f n = order g n.
  Proof.
    intros f g n H. unfold order.
    assert (G : forall l k, (forall i, In i l -> i < n) -> (forall i, In i k -> i < n) ->
      List.fold_left (fun found i => insert f i found) l k = List.fold_left (fun found i => insert g i found) l k).
    { induction l as [| a l IH]; simpl; intros k L K; auto. rewrite (@insert_same f g n) by auto.
      apply IH; auto. intros i I. apply insert_in in I. destruct I; subst; auto. }
    apply G; [intros i I; apply in_seq in I; lia | contradiction].
  Qed.
  Lemma order_shape : forall f n, length (order f n) = n /\ forall i, In i (order f n) -> i < n.
  Proof.
    intros f n. unfold order.
    assert (G : forall l k, (forall i, In i l -> i < n) -> (forall i, In i k -> i < n) ->
      length (List.fold_left (fun found i => insert f i found) l k) = length l + length k /\
      forall i, In i (List.fold_left (fun found i => insert f i found) l k) -> i < n).
    { induction l as [| a l IH]; simpl; intros k L K; auto.
      destruct (IH (insert f a k)) as [I1 I2]; auto.
      - intros i I. apply insert_in in I. destruct I; subst; auto.
      - split; auto. rewrite I1, insert_length. lia. }
    destruct (G (seq 0 n) nil) as [G1 G2].
    - intros i I. apply in_seq in I. lia.
    - contradiction.
    - rewrite seq_length in G1. simpl in G1. split; auto. lia.
  Qed.
  Lemma insertion_sort_seq_related : forall f g n x y, Rfun R (Rfun R eq) f g -> Rarr n R x y ->
    Rarr n R (insertion_sort_seq f n x) (insertion_sort_seq g n y).
  Proof.
    intros f g n x y F X i I. unfold insertion_sort_seq.
    rewrite (@order_same (fun i j => f (x i) (x j)) (fun i j => g (y i) (y j)) n)
      by (intros; apply F; apply X; auto).
    apply X. destruct (order_shape (fun i j => g (y i) (y j)) n) as [L B].
    apply B. apply nth_In. lia.
  Qed.

  Lemma linear_search_related : forall f g c d n x y, Rfun R eq f g -> R c d -> Rarr n R x y ->
    R (linear_search f c n x) (linear_search g d n y).
  Proof.
    intros f g c d n x y F C X. unfold linear_search.
    rewrite (@find_same (fun i => Z.eqb (f (x i)) 0) (fun i => Z.eqb (g (y i)) 0)).
    - destruct (List.find _ _) eqn:E; auto. apply find_some in E. destruct E as [E _].
      apply in_seq in E. apply X. lia.
    - intros i I. apply in_seq in I. rewrite (F (x i) (y i)); auto. apply X. lia.
  Qed.
  Lemma linear_search_append : forall (f : A -> Z) c a b x,
    linear_search f c (a + b) x = linear_search f (linear_search f c b (fun i => x (a + i))) a x.
  Proof.
    intros f c a b x. unfold linear_search. rewrite seq_app. simpl.
    assert (G : forall l, List.find (fun i => Z.eqb (f (x i)) 0) (l ++ seq a b) =
      match List.find (fun i => Z.eqb (f (x i)) 0) l with
      | Some i => Some i
      | None => List.find (fun i => Z.eqb (f (x i)) 0) (seq a b) end).
    { induction l as [| i l IH]; simpl; auto. destruct (Z.eqb (f (x i)) 0); auto. }
    rewrite G. destruct (List.find _ (seq 0 a)); auto.
    assert (S : forall k, List.find (fun i => Z.eqb (f (x i)) 0) (seq (a + k) b) =
      option_map (fun i => a + i) (List.find (fun i => Z.eqb (f (x (a + i))) 0) (seq k b))).
    { clear. revert a. induction b as [| b IH]; simpl; intros a k; auto.
      destruct (Z.eqb (f (x (a + k))) 0); auto. rewrite <- Nat.add_succ_r. apply IH. }
    specialize (S 0). rewrite Nat.add_0_r in S. rewrite S.
    destruct (List.find _ (seq 0 b)); simpl; auto.
  Qed.

  Lemma scatter_indices_related : forall m n ids ids' x y v w,
    Rarr m eq ids ids' -> Rarr m R x y -> Rarr n R v w ->
    Rarr n R (scatter_indices m ids x v) (scatter_indices m ids' y w).
  Proof.
    intros m n ids ids' x y v w I X V i L. unfold scatter_indices.
    rewrite (@find_same (fun j => Z.eqb (ids j) (Z.of_nat i)) (fun j => Z.eqb (ids' j) (Z.of_nat i))).
    - destruct (List.find _ _) eqn:E; auto. apply find_some in E. destruct E as [E _].
      apply in_seq in E. apply X. lia.
    - intros j J. apply in_seq in J. rewrite I by lia. reflexivity.
  Qed.
End Related.

Lemma reduce_while_related : forall (A B : Type) (R : rel A) (S : rel B) f g p q z w n x y,
  Rfun S (Rfun R S) f g -> Rfun S (Rfun R eq) p q -> S z w -> Rarr n R x y ->
  Rpair eq S (reduce_while f p z n x) (reduce_while g q w n y).
Proof.
  intros A B R S f g p q z w n x y F P Z X. unfold reduce_while.
  assert (G : forall k i z w, i + k <= n -> S z w ->
    Rpair eq S (reduce_while_from f p z i k x) (reduce_while_from g q w i k y)).
  { induction k; simpl; intros i a b L Q.
    - split; auto.
    - assert (E : R (x i) (y i)) by (apply X; lia).
      rewrite (P a b Q _ _ E). destruct (q b (y i)).
      + apply IHk. lia. apply F; auto.
      + split; auto. }
  apply G; auto.
Qed.

(* ---- where an index function puts what ---- *)

Lemma position_below : forall p n j, 0 < n -> position p n j < n.
Proof.
  intros p n j L. assert (G : forall k, k <= n -> 0 < n -> position p k j < n).
  { induction k; simpl; intros; auto. destruct (p k =? j); [lia | apply IHk; lia]. }
  apply G; auto.
Qed.
Lemma position_same : forall p q n j, (forall i, i < n -> p i = q i) -> position p n j = position q n j.
Proof. induction n; simpl; intros j H; auto. rewrite H, IHn by auto. reflexivity. Qed.
Lemma position_found : forall p n j, (exists i, i < n /\ p i = j) -> position p n j < n /\ p (position p n j) = j.
Proof.
  induction n; simpl; intros j [i [L E]]; [lia |].
  destruct (p n =? j) eqn:Q.
  - apply Nat.eqb_eq in Q. lia.
  - apply Nat.eqb_neq in Q. destruct (IHn j) as [L2 E2]; [| lia].
    exists i. split; auto. assert (i <> n) by congruence. lia.
Qed.
Lemma at_position : forall p n j, bijective n p -> j < n -> p (position p n j) = j.
Proof.
  intros p n j B L. destruct (B j L) as [i [I [E _]]]. apply position_found. exists i. auto.
Qed.
Lemma position_at : forall p n i, bijective n p -> p i < n -> i < n -> position p n (p i) = i.
Proof.
  intros p n i B P L. destruct (B (p i) P) as [k [K [E U]]].
  destruct (@position_found p n (p i)) as [F G]; [exists i; auto |].
  rewrite (U _ F G). symmetry. apply U; auto.
Qed.

Lemma bijective_related : forall n p q, Rindex n p q -> bijective n p -> bijective n q.
Proof.
  intros n p q H B j L. destruct (B j L) as [i [I [E U]]]. exists i. split; auto. split.
  - destruct (H i I). congruence.
  - intros k K F. apply U; auto. destruct (H k K). congruence.
Qed.
Lemma inverse_sym : forall n p q, inverse n p q -> inverse n q p.
Proof. intros n p q H i L. destruct (H i L). auto. Qed.
Lemma position_inverse : forall p q n j, inverse n p q -> (forall i, i < n -> q i < n) -> j < n ->
  position p n j = q j.
Proof.
  intros p q n j I B L. destruct (@position_found p n j) as [F G].
  - exists (q j). split; auto. apply I; auto.
  - destruct (I (position p n j) F) as [_ E]. rewrite G in E. auto.
Qed.
Lemma position_compose : forall p q n j, bijective n p -> bijective n q ->
  (forall i, i < n -> p i < n) -> (forall i, i < n -> q i < n) -> j < n ->
  position (fun i => q (p i)) n j = position p n (position q n j).
Proof.
  intros p q n j P Q I J L.
  destruct (Q j L) as [b [Lb [Eb Ub]]]. destruct (P b Lb) as [a [La [Ea Ua]]].
  destruct (@position_found (fun i => q (p i)) n j) as [F G].
  - exists a. split; auto. rewrite Ea. exact Eb.
  - destruct (@position_found q n j) as [F2 G2]; [exists b; auto |].
    assert (X : position q n j = b) by (apply Ub; auto). rewrite X.
    destruct (@position_found p n b) as [F3 G3]; [exists a; auto |].
    assert (Y : p (position (fun i => q (p i)) n j) = b) by (apply Ub; auto).
    rewrite (Ua _ F3 G3). apply Ua; auto.
Qed.

(* ---- borders that go round ---- *)

Lemma around_inside : forall left n i, left <= i -> i < left + n -> around left n i = i - left.
Proof.
  intros left n i L U. unfold around. symmetry. apply Nat.mod_unique with left; [lia |].
  destruct n; nia.
Qed.
Lemma around_before : forall left n i, i < left -> left <= i + n -> around left n i = i + n - left.
Proof.
  intros left n i L U. unfold around.
  destruct left as [| left]; [lia |]. symmetry. apply Nat.mod_unique with left; [lia |].
  destruct n; nia.
Qed.
Lemma around_after : forall left n i, left + n <= i -> i < left + 2 * n -> around left n i = i - left - n.
Proof.
  intros left n i L U. unfold around. symmetry. apply Nat.mod_unique with (left + 1); [lia |].
  destruct n; nia.
Qed.
Lemma around_below : forall left n i, 0 < n -> around left n i < n.
Proof. intros. unfold around. apply Nat.mod_upper_bound. lia. Qed.
Lemma around_nothing : forall n i, around 0 n i = i mod n.
Proof. intros. unfold around. rewrite Nat.mul_0_l, Nat.add_0_r. reflexivity. Qed.

Lemma position_reverse : forall n j, j < n -> position (fun i => n - 1 - i) n j = n - 1 - j.
Proof.
  intros n j L. destruct (@position_found (fun i => n - 1 - i) n j) as [F G]; [exists (n - 1 - j); lia | lia].
Qed.

(* A rotation, however its sum is written. *)
Lemma rotation_bijective : forall g t n, (forall v, g v = v + t) -> bijective n (fun v => g v mod n).
Proof.
  intros g t n G j L. exists ((j + (n - t mod n)) mod n). split; [apply Nat.mod_upper_bound; lia | split].
  - rewrite G, turned_forth by lia. apply Nat.mod_small; auto.
  - intros k K E. rewrite <- E, G, Nat.add_mod_idemp_l, turned_back by lia. symmetry. apply Nat.mod_small; auto.
Qed.
Lemma position_rotation : forall g t n j, (forall v, g v = v + t) -> j < n ->
  position (fun v => g v mod n) n j = (j + (n - t mod n)) mod n.
Proof.
  intros g t n j G L. set (i := (j + (n - t mod n)) mod n).
  assert (I : i < n) by (apply Nat.mod_upper_bound; lia).
  assert (E : g i mod n = j) by (unfold i; rewrite G, turned_forth by lia; apply Nat.mod_small; auto).
  rewrite <- E at 1.
  apply (@position_at (fun v => g v mod n) n i); auto using (@rotation_bijective g t n G).
  apply Nat.mod_upper_bound. lia.
Qed.

(* ---- borders, reversed ---- *)

Lemma around_reversed : forall l r n t i, t = l + n + r -> 0 < n -> i < t ->
  around l n (t - 1 - i) = n - 1 - around r n i.
Proof.
  intros l r n t i E L I. subst t. unfold around. apply complement with (l + r + 1); auto.
  destruct n as [| d]; [lia |]. replace (S d - 1) with d by lia. lia.
Qed.
Lemma mirror_turned : forall l r n i, 0 < n -> i < l + n + r ->
  around l (2 * n) (l + n + r - 1 - i) =
  if around r (2 * n) i <? n then n - 1 - around r (2 * n) i else 3 * n - 1 - around r (2 * n) i.
Proof.
  intros l r n i L I. unfold around. remember (2 * n) as m eqn:M.
  assert (B : (i + r * (m - 1)) mod m < m) by (apply Nat.mod_upper_bound; lia).
  pose proof (Nat.div_mod_eq (i + r * (m - 1)) m) as E.
  remember ((i + r * (m - 1)) / m) as q eqn:X. remember ((i + r * (m - 1)) mod m) as b eqn:Y. clear X Y.
  destruct m as [| d]; [lia |]. replace (S d - 1) with d in * by lia.
  assert (T : l + n + r - 1 - i + l * d + S d * q + b + 1 = n + (l + r) * S d) by lia.
  assert (Q : S d * q <= (l + r) * S d + n) by lia.
  assert (q <= l + r).
  { destruct (Nat.le_gt_cases q (l + r)) as [| G]; auto. exfalso.
    assert (S d * (l + r + 1) <= S d * q) by (apply Nat.mul_le_mono_l; lia). lia. }
  remember (l + r - q) as k eqn:K. assert (S d * q = (l + r) * S d - k * S d /\ k * S d <= (l + r) * S d) as [V W].
  { replace (l + r) with (q + k) by lia. lia. }
  symmetry. destruct (b <? n) eqn:D.
  - apply Nat.ltb_lt in D. apply Nat.mod_unique with k; lia.
  - apply Nat.ltb_ge in D. destruct k as [| k]; [lia |]. apply Nat.mod_unique with k; lia.
Qed.
Lemma mirror_reversed : forall l r n t i, t = l + n + r -> 0 < n -> i < t ->
  (if around l (2 * n) (t - 1 - i) <? n then around l (2 * n) (t - 1 - i)
   else 2 * n - 1 - around l (2 * n) (t - 1 - i)) =
  n - 1 - (if around r (2 * n) i <? n then around r (2 * n) i else 2 * n - 1 - around r (2 * n) i).
Proof.
  intros l r n t i E L I. subst t. rewrite mirror_turned by auto.
  assert (B : around r (2 * n) i < 2 * n) by (apply around_below; lia).
  destruct (around r (2 * n) i <? n) eqn:D; [apply Nat.ltb_lt in D | apply Nat.ltb_ge in D].
  - destruct (n - 1 - around r (2 * n) i <? n) eqn:Q; [auto | apply Nat.ltb_ge in Q; lia].
  - destruct (3 * n - 1 - around r (2 * n) i <? n) eqn:Q; [apply Nat.ltb_lt in Q; lia | lia].
Qed.
