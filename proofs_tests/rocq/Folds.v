(* Lemmas on folds, scans and iteration, all up to the relation R of the elements. *)

From Coq Require Import Lia List Permutation.
From Relift Require Export Patterns Laws.
Set Implicit Arguments.

(* ---- related arguments give related results ---- *)

Lemma fold_related : forall (A A' B B' : Type) (S : B -> B' -> Prop) f g n (x : arr A) (y : arr A') z w,
  S z w -> (forall i b c, i < n -> S b c -> S (f b (x i)) (g c (y i))) ->
  S (fold f z n x) (fold g w n y).
Proof. induction n; simpl; intros x y z w Z H; auto. apply H; [lia | auto]. Qed.
Lemma iterate_related : forall (A B : Type) (S : A -> B -> Prop) f g k x y,
  S x y -> (forall a b, S a b -> S (f a) (g b)) -> S (iterate k f x) (iterate k g y).
Proof. induction k; simpl; intros; auto. Qed.

Lemma iterate_sizes_related : forall (A : Type) (R : rel A) m b f g k x y,
  (forall l, Rfun (Rarr (l * b) R) (Rarr l R) (f l) (g l)) -> Rarr (k * b ^ m) R x y ->
  Rarr k R (iterate_sizes m b f k x) (iterate_sizes m b g k y).
Proof.
  induction m; simpl; intros b f g k x y F X.
  - rewrite Nat.mul_1_r in X. exact X.
  - apply IHm; auto. apply F. rewrite <- Nat.mul_assoc, (Nat.mul_comm (b ^ m)). exact X.
Qed.

(* ---- equations that need no law ---- *)

Lemma fold_append : forall (A B : Type) (f : B -> A -> B) a b z x,
  fold f z (a + b) x = fold f (fold f z a x) b (fun i => x (a + i)).
Proof.
  induction b; simpl; intros.
  - rewrite Nat.add_0_r; auto.
  - rewrite Nat.add_succ_r; simpl. rewrite IHb. auto.
Qed.
Lemma fold_chunks : forall (A B : Type) (f : B -> A -> B) k m z x,
  fold f z (k * m) x = fold (fun a c => fold f a m c) z k (fun i j => x (i * m + j)).
Proof.
  induction k; simpl; intros; auto.
  rewrite Nat.add_comm, fold_append, IHk. reflexivity.
Qed.
(* A fold whose accumulator is an array, combined element by element, is an array of folds. *)
Lemma fold_pointwise : forall (A B : Type) (f : nat -> B -> A -> B) z n x i,
  fold (fun (a : arr B) (b : A) j => f j (a j) b) z n x i = fold (f i) (z i) n x.
Proof. induction n; simpl; intros; auto. rewrite IHn. reflexivity. Qed.
Lemma fold_vectorize : forall (A : Type) (op : A -> A -> A) z n x i,
  fold (vectorize op) z n x i = fold op (z i) n (fun j => x j i).
Proof. induction n; simpl; intros; auto. unfold vectorize in *. rewrite IHn. reflexivity. Qed.
Lemma fold_constant : forall (A B : Type) (f : B -> A -> B) z n (c : A),
  fold f z n (fun _ => c) = iterate n (fun b => f b c) z.
Proof. induction n; simpl; intros; auto. rewrite IHn. reflexivity. Qed.

Lemma iterate_add : forall (A : Type) (f : A -> A) k l x,
  iterate k f (iterate l f x) = iterate (k + l) f x.
Proof. induction k; simpl; intros; auto; rewrite IHk; reflexivity. Qed.
Lemma iterate_mul : forall (A : Type) (f : A -> A) k l x,
  iterate k (fun y => iterate l f y) x = iterate (k * l) f x.
Proof. induction k; simpl; intros; auto. rewrite IHk, iterate_add. reflexivity. Qed.
Lemma iterate_pointwise : forall (A : Type) (f : A -> A) k x i,
  iterate k (fun (x : arr A) j => f (x j)) x i = iterate k f (x i).
Proof. induction k; simpl; intros; auto; rewrite IHk; reflexivity. Qed.
Lemma iterate_id : forall (A : Type) k (x : A), iterate k (fun y => y) x = x.
Proof. induction k; simpl; auto. Qed.
Lemma iterate_inside : forall (A : Type) (f : A -> A) k x, iterate k f (f x) = f (iterate k f x).
Proof. induction k; simpl; intros; auto; rewrite IHk; reflexivity. Qed.

(* ---- laws of an operator ---- *)

Section Monoid.
  Variables (A : Type) (R : rel A) (op : A -> A -> A) (z : A).
  Hypothesis per : PER R.
  Hypothesis Op : Rfun R (Rfun R R) op op.
  Hypothesis Z : R z z.
  Hypothesis As : associative R op.
  Hypothesis Ne : neutral R op z.
  Let trans := fun x y w => @per_trans A R per x y w.
  Let sym := fun x y => @per_sym A R per x y.

  Definition proper n (x : arr A) := forall i, i < n -> R (x i) (x i).

  Lemma op_related : forall a b c d, R a b -> R c d -> R (op a c) (op b d).
  Proof. intros. apply Op; auto. Qed.
  Lemma fold_proper : forall n x, proper n x -> R (fold op z n x) (fold op z n x).
  Proof. intros. apply fold_related; auto. intros. apply Op; auto. Qed.
  Lemma proper_less : forall n k x, proper n x -> k <= n -> proper k x.
  Proof. intros n k x P L i I. apply P. lia. Qed.
  Hint Resolve op_related fold_proper : core.

  (* The accumulator comes out: no element is neutral here, a is any. *)
  Lemma fold_from : forall n x a, R a a -> proper n x -> R (fold op a n x) (op a (fold op z n x)).
  Proof.
    induction n; simpl; intros x a Q P.
    - apply sym. apply Ne; auto.
    - assert (Pn : proper n x) by (apply proper_less with (S n); auto).
      assert (X : R (x n) (x n)) by (apply P; lia).
      eapply trans. apply op_related. apply IHn; auto. exact X. apply sym. apply As; auto.
  Qed.
  Lemma fold_concat : forall a b x, proper (a + b) x ->
    R (fold op z (a + b) x) (op (fold op z a x) (fold op z b (fun i => x (a + i)))).
  Proof.
    intros a b x P. rewrite fold_append. apply fold_from.
    - apply fold_proper. apply proper_less with (a + b); auto. lia.
    - intros i I. apply P. lia.
  Qed.
  Lemma fold_blocks : forall n k m x, n = k * m -> proper n x ->
    R (fold op z n x) (fold op z k (fun i => fold op z m (fun j => x (i * m + j)))).
  Proof.
    intros n k m x E. subst n. revert m x. induction k; simpl; intros m x P; auto.
    rewrite Nat.add_comm in *. eapply trans. apply fold_concat; auto.
    apply op_related.
    - apply IHk. intros i L; apply P; lia.
    - apply fold_proper. intros i L; apply P; lia.
  Qed.
  (* Starting from a twice is starting from a once, where a is what idempotence absorbs. *)
  Lemma fold_neutral : forall n, R (fold op z n (fun _ => z)) z.
  Proof. induction n; simpl; auto. eapply trans. apply op_related. apply IHn. apply Z. apply Ne; auto. Qed.

  Section Commutative.
  Hypothesis Co : commutative R op.

  Lemma fold_pairs : forall n x y, proper n x -> proper n y ->
    R (fold op z n (fun i => op (x i) (y i))) (op (fold op z n x) (fold op z n y)).
  Proof.
    induction n; simpl; intros x y K L.
    - apply sym. apply Ne; auto.
    - assert (Kn : proper n x) by (apply proper_less with (S n); auto).
      assert (Ln : proper n y) by (apply proper_less with (S n); auto).
      pose proof (fold_proper Kn) as FX. pose proof (fold_proper Ln) as FY.
      pose proof (K n ltac:(lia)) as XN. pose proof (L n ltac:(lia)) as YN.
      eapply trans. apply op_related. apply IHn; auto. apply op_related; eauto.
      (* (X + Y) + (x + y)  ~  (X + x) + (Y + y) *)
      eapply trans. apply As; auto. eapply trans. 2: apply sym, As; auto.
      apply op_related; auto. eapply trans. apply sym, As; auto. eapply trans. 2: apply As; auto.
      apply op_related; auto.
  Qed.
  Lemma fold_swap : forall k m (x : arr (arr A)), (forall i, i < k -> proper m (x i)) ->
    R (fold op z k (fun i => fold op z m (fun j => x i j)))
      (fold op z m (fun j => fold op z k (fun i => x i j))).
  Proof.
    induction k; simpl; intros m x P.
    - apply sym, fold_neutral.
    - assert (P' : forall i, i < k -> proper m (x i)) by (intros i Q; apply P; lia).
      eapply trans. apply op_related. apply IHk; auto. apply fold_proper; apply P; lia. apply sym.
      apply (@fold_pairs m (fun j => fold op z k (fun i => x i j)) (x k)).
      + intros j J. apply fold_proper. intros i I. apply P'; auto.
      + apply P; lia.
  Qed.
  Lemma fold_strided : forall n k m x, n = k * m -> proper n x ->
    R (fold op z n x) (fold op z m (fun j => fold op z k (fun i => x (i * m + j)))).
  Proof.
    intros n k m x E P. eapply trans. apply (@fold_blocks n k m); auto.
    apply (@fold_swap k m (fun i j => x (i * m + j))).
    subst n. intros i I j J. apply P. nia.
  Qed.

  (* Over a permutation: through lists. *)
  Definition total (x : arr A) l := fold_right (fun i a => op (x i) a) z l.
  Lemma total_proper : forall x l, (forall i, In i l -> R (x i) (x i)) -> R (total x l) (total x l).
  Proof. induction l; simpl; intros; auto. Qed.
  Lemma total_app : forall x l k, (forall i, In i (l ++ k) -> R (x i) (x i)) ->
    R (total x (l ++ k)) (op (total x l) (total x k)).
  Proof.
    induction l; simpl; intros k K.
    - apply sym, Ne, total_proper; auto.
    - eapply trans. apply op_related. apply K; auto. apply IHl; auto.
      apply As; auto; apply total_proper; intros; apply K; right; apply in_or_app; auto.
  Qed.
  Lemma fold_total : forall x n, proper n x -> R (fold op z n x) (total x (seq 0 n)).
  Proof.
    induction n; intros K; auto. simpl fold. rewrite seq_S. simpl.
    assert (Kn : proper n x) by (apply proper_less with (S n); auto).
    assert (XN : R (x n) (x n)) by (apply K; lia).
    eapply trans. 2: { apply sym, total_app. intros i I. apply in_app_or in I.
      destruct I as [I | [I | []]]; [apply in_seq in I; apply K; lia | subst; auto]. }
    simpl. apply op_related; auto. apply sym. apply Ne; auto.
  Qed.
  Lemma total_permutation : forall x l k, Permutation l k -> (forall i, In i l -> R (x i) (x i)) ->
    R (total x l) (total x k).
  Proof.
    induction 1; simpl; intros K; auto.
    - assert (R (total x l) (total x l)) by (apply total_proper; auto).
      eapply trans. apply As; auto. eapply trans. 2: apply sym, As; auto. apply op_related; auto.
    - eapply trans. apply IHPermutation1; auto. apply IHPermutation2.
      intros i I. apply K. eapply Permutation_in; [apply Permutation_sym; eassumption | auto].
  Qed.
  Lemma fold_permutation : forall n p x, (forall i, i < n -> p i < n) -> bijective n p -> proper n x ->
    R (fold op z n (fun i => x (p i))) (fold op z n x).
  Proof.
    intros n p x I B K.
    eapply trans. apply fold_total. intros i L; apply K; auto. eapply trans. 2: apply sym, fold_total; auto.
    assert (E : forall l, total (fun i => x (p i)) l = total x (List.map p l))
      by (induction l; simpl; congruence).
    rewrite E. apply total_permutation.
    - apply NoDup_Permutation.
      + assert (G : forall l, NoDup l -> (forall i, In i l -> i < n) -> NoDup (List.map p l)).
        { induction 1 as [| a l N D IH]; simpl; intros H; constructor; auto.
          intro Q. apply in_map_iff in Q. destruct Q as [j [Ej Ij]].
          destruct (B (p a)) as [b [_ [_ U]]]; [apply I; auto |].
          assert (a = b) by (apply U; auto). assert (j = b) by (apply U; auto). subst. auto. }
        apply G. apply seq_NoDup. intros i Q. apply in_seq in Q. lia.
      + apply seq_NoDup.
      + intro j. rewrite in_map_iff, in_seq. split.
        * intros [i [Ei Ii]]. apply in_seq in Ii. specialize (I i). lia.
        * intros Ij. destruct (B j) as [i [L [Ei _]]]; [lia |]. exists i. rewrite in_seq. lia.
    - intros i Q. apply in_map_iff in Q. destruct Q as [j [Ej Ij]]. apply in_seq in Ij. subst.
      apply K. apply I. lia.
  Qed.
  End Commutative.
End Monoid.

Lemma fold_distributive : forall (A : Type) (R : rel A) (plus times : A -> A -> A) c, PER R ->
  Rfun R (Rfun R R) plus plus -> Rfun R (Rfun R R) times times -> R c c ->
  distributive R times plus -> forall n z x, R z z -> proper R n x ->
  R (fold plus (times c z) n (fun i => times c (x i))) (times c (fold plus z n x)) /\
  R (fold plus (times z c) n (fun i => times (x i) c)) (times (fold plus z n x) c).
Proof.
  intros A R plus times c P Pl Ti C D. induction n; simpl; intros z x Q K.
  - split; apply Ti; auto.
  - assert (Kn : proper R n x) by (intros i L; apply K; lia).
    assert (X : R (x n) (x n)) by (apply K; lia).
    assert (F : R (fold plus z n x) (fold plus z n x))
      by (apply fold_related; auto; intros; apply Pl; auto).
    destruct (IHn z x Q Kn) as [L1 L2].
    destruct (D c (fold plus z n x) (x n)) as [D1 D2]; auto. split.
    + eapply per_trans; [exact P | apply Pl; [exact L1 | apply Ti; [exact C | exact X]] | apply per_sym; auto].
    + eapply per_trans; [exact P | apply Pl; [exact L2 | apply Ti; [exact X | exact C]] | apply per_sym; auto].
Qed.

(* ---- laws hold for both of a related pair ---- *)

Section Pairs.
  Variables (A : Type) (R : rel A) (op op' : A -> A -> A) (z z' : A).
  Hypothesis per : PER R.
  Hypothesis Op : Rfun R (Rfun R R) op op'.
  Let trans := fun x y w => @per_trans A R per x y w.
  Let sym := fun x y => @per_sym A R per x y.
  Lemma associative_related : associative R op -> associative R op'.
  Proof.
    intros L a b c Qa Qb Qc. eapply trans. 2: eapply trans. 2: apply (L a b c); auto.
    - apply sym. apply Op; auto. apply Op; auto.
    - apply Op; auto. apply Op; auto.
  Qed.
  Lemma commutative_related : commutative R op -> commutative R op'.
  Proof.
    intros L a b Qa Qb. eapply trans. 2: eapply trans. 2: apply (L a b); auto.
    - apply sym. apply Op; auto.
    - apply Op; auto.
  Qed.
  Lemma idempotent_related : idempotent R op -> idempotent R op'.
  Proof. intros L a Qa. eapply trans. 2: apply (L a); auto. apply sym. apply Op; auto. Qed.
  Lemma neutral_related : R z z' -> neutral R op z -> neutral R op' z'.
  Proof.
    intros Q L a Qa. destruct (L a Qa) as [L1 L2]. split.
    - eapply trans; [apply sym, Op; [exact Q | exact Qa] | exact L1].
    - eapply trans; [apply sym, Op; [exact Qa | exact Q] | exact L2].
  Qed.
  Lemma distributive_related : forall plus plus', Rfun R (Rfun R R) plus plus' ->
    distributive R op plus -> distributive R op' plus'.
  Proof.
    intros plus plus' Pl L a b c Qa Qb Qc. destruct (L a b c Qa Qb Qc) as [L1 L2]. split.
    - eapply trans; [apply sym, Op; [exact Qa | apply Pl; [exact Qb | exact Qc]] |].
      eapply trans; [exact L1 |]. apply Pl; apply Op; assumption.
    - eapply trans; [apply sym, Op; [apply Pl; [exact Qb | exact Qc] | exact Qa] |].
      eapply trans; [exact L2 |]. apply Pl; apply Op; assumption.
  Qed.
End Pairs.
