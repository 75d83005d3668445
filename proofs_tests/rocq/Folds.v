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
Lemma fold_ignoring : forall (A B : Type) (f : B -> B) z n (x : arr A),
  fold (fun a _ => f a) z n x = iterate n f z.
Proof. induction n; simpl; intros; auto. rewrite IHn. reflexivity. Qed.

Lemma iterate_add : forall (A : Type) (f : A -> A) k l x,
  iterate k f (iterate l f x) = iterate (k + l) f x.
Proof. induction k; simpl; intros; auto; rewrite IHk; reflexivity. Qed.
Lemma iterate_mul : forall (A : Type) (f : A -> A) k l x,
  iterate k (fun y => iterate l f y) x = iterate (k * l) f x.
Proof. induction k; simpl; intros; auto. rewrite IHk, iterate_add. reflexivity. Qed.
Lemma iterate_last : forall (A : Type) (f : A -> A) k x, iterate (k + 1) f x = f (iterate k f x).
Proof. intros. rewrite Nat.add_1_r. reflexivity. Qed.
Lemma iterate_id : forall (A : Type) k (x : A), iterate k (fun y => y) x = x.
Proof. induction k; simpl; auto. Qed.
Lemma iterate_inside : forall (A : Type) (f : A -> A) k x, iterate k f (f x) = f (iterate k f x).
Proof. induction k; simpl; intros; auto; rewrite IHk; reflexivity. Qed.

(* Gathering again and again is gathering once, where each index went again and again. *)
Lemma iterate_gather : forall (A : Type) p k (x : arr A) i,
  iterate k (fun (y : arr A) i => y (p i)) x i = x (iterate k p i).
Proof.
  induction k; simpl; intros; auto. rewrite IHk. f_equal. rewrite iterate_inside. reflexivity.
Qed.
Lemma iterate_rotation : forall n t k i, i < n -> iterate k (fun v => (v + t) mod n) i = (i + k * t) mod n.
Proof.
  induction k; simpl; intros i L.
  - rewrite Nat.add_0_r, Nat.mod_small; auto.
  - rewrite IHk by auto. rewrite Nat.add_mod_idemp_l by lia. f_equal. lia.
Qed.
Lemma iterate_involution : forall p m i n, i < n -> (forall j, j < n -> p j < n /\ p (p j) = j) ->
  iterate (2 * m) p i = i.
Proof.
  intros p m i n L I. rewrite Nat.mul_comm, <- iterate_mul. induction m; simpl in *; auto.
  rewrite IHm. apply I; auto.
Qed.

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
  Lemma fold_neutral : forall n, R (fold op z n (fun _ => z)) z.
  Proof. induction n; simpl; auto. eapply trans. apply op_related. apply IHn. apply Z. apply Ne; auto. Qed.

  (* From the other end: the operands change places. *)
  Lemma fold_flipped : forall (B : Type) (h : B -> A) n (x : arr B), proper n (fun i => h (x i)) ->
    R (fold (fun acc c => op (h c) acc) z n x) (fold op z n (fun i => h (x (n - 1 - i)))).
  Proof.
    induction n; intros x P; simpl; auto.
    assert (Pn : proper n (fun i => h (x i))) by (intros i L; apply (P i); lia).
    assert (Q : proper (1 + n) (fun i => h (x (n - 0 - i)))) by (intros i L; apply (P (n - 0 - i)); lia).
    pose proof (fold_concat 1 n Q) as C. simpl in C. rewrite Nat.sub_0_r in *.
    apply sym. eapply trans; [exact C |].
    apply op_related.
    - replace (n - 0) with n by lia. apply Ne. apply (P n). lia.
    - eapply trans; [| apply sym, IHn; auto].
      apply fold_related; auto. intros i b c L E. apply Op; auto.
      replace (n - S i) with (n - 1 - i) by lia. apply (P (n - 1 - i)). lia.
  Qed.

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

  End Commutative.
End Monoid.

(* Without a neutral element: over a permutation, through lists. *)
Section Permutations.
  Variables (A : Type) (R : rel A) (op : A -> A -> A) (z : A).
  Hypothesis per : PER R.
  Hypothesis Op : Rfun R (Rfun R R) op op.
  Hypothesis Z : R z z.
  Hypothesis As : associative R op.
  Hypothesis Co : commutative R op.
  Let trans := fun x y w => @per_trans A R per x y w.
  Let sym := fun x y => @per_sym A R per x y.

  Definition total (x : arr A) a l := fold_left (fun a i => op a (x i)) l a.
  Lemma total_related : forall x l a b, R a b -> (forall i, In i l -> R (x i) (x i)) ->
    R (total x a l) (total x b l).
  Proof. induction l; simpl; intros; auto. apply IHl; auto. apply Op; auto. Qed.
  Lemma fold_total : forall n x, fold op z n x = total x z (seq 0 n).
  Proof.
    induction n; intros; auto. rewrite seq_S. unfold total in *. rewrite fold_left_app. simpl.
    rewrite IHn. reflexivity.
  Qed.
  Lemma total_permutation : forall x l k, Permutation l k -> forall a, R a a ->
    (forall i, In i l -> R (x i) (x i)) -> R (total x a l) (total x a k).
  Proof.
    induction 1; simpl; intros a Q K; auto.
    - apply IHPermutation; auto. apply Op; auto.
    - apply total_related; auto. (* (a + y) + x  ~  (a + x) + y *)
      eapply trans. apply sym, As; auto. eapply trans. 2: apply As; auto. apply Op; auto.
    - eapply trans. apply IHPermutation1; auto. apply IHPermutation2; auto.
      intros i I. apply K. eapply Permutation_in; [apply Permutation_sym; eassumption | auto].
  Qed.
  Lemma fold_permutation : forall n p x, (forall i, i < n -> p i < n) -> bijective n p -> proper R n x ->
    R (fold op z n (fun i => x (p i))) (fold op z n x).
  Proof.
    intros n p x I B K. rewrite !fold_total.
    assert (E : forall l a, total (fun i => x (p i)) a l = total x a (List.map p l))
      by (induction l; simpl; intros; auto).
    rewrite E. apply total_permutation; auto.
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
  Lemma reverse_bijective : forall n, bijective n (fun i => n - 1 - i).
  Proof. intros n j L. exists (n - 1 - j). repeat split; intros; lia. Qed.
  Lemma fold_reversed : forall n x, proper R n x ->
    R (fold op z n (fun i => x (n - 1 - i))) (fold op z n x).
  Proof.
    intros. apply (@fold_permutation n (fun i => n - 1 - i)); auto using reverse_bijective. intros. lia.
  Qed.
End Permutations.

(* A border of neutral elements changes nothing, whatever the order of combination. *)
Lemma fold_bordered : forall (A : Type) (R : rel A) op z, PER R -> Rfun R (Rfun R R) op op -> R z z ->
  neutral R op z -> forall l n r x y, (forall i, i < l -> R (x i) z) ->
  (forall i, i < n -> R (x (l + i)) (y i)) -> (forall i, i < r -> R (x (l + n + i)) z) ->
  R (fold op z (l + n + r) x) (fold op z n y).
Proof.
  intros A R op z P Op Z Ne l n r x y L N Q. rewrite !fold_append.
  assert (F : R (fold op z l x) z).
  { clear N Q. induction l; simpl; auto. eapply per_trans; [exact P | | apply Ne; exact Z].
    apply Op; auto. }
  assert (G : R (fold op (fold op z l x) n (fun i => x (l + i))) (fold op z n y)).
  { apply fold_related; auto. intros. apply Op; auto. }
  revert G. generalize (fold op (fold op z l x) n (fun i => x (l + i))) as a. clear F. intros a G.
  induction r; simpl; auto. eapply per_trans; [exact P | apply Op; [apply IHr; auto | apply Q; lia] |].
  apply Ne. eapply per_right; eassumption.
Qed.
Lemma fold_all_neutral : forall (A : Type) (R : rel A) op z, PER R -> Rfun R (Rfun R R) op op -> R z z ->
  neutral R op z -> forall n x, (forall i, i < n -> R (x i) z) -> R (fold op z n x) z.
Proof.
  intros A R op z P Op Z Ne. induction n; simpl; intros x L; auto.
  eapply per_trans; [exact P | | apply Ne; exact Z]. apply Op; auto.
Qed.
Lemma fold_all_same : forall (A : Type) (R : rel A) op z, PER R -> Rfun R (Rfun R R) op op -> R z z ->
  idempotent R op -> forall n x, (forall i, i < n -> R (x i) z) -> R (fold op z n x) z.
Proof.
  intros A R op z P Op Z Id. induction n; simpl; intros x L; auto.
  eapply per_trans; [exact P | | apply Id; exact Z]. apply Op; auto.
Qed.
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

(* A factor of all elements of a sum from its neutral element, which need not be a factor of itself. *)
Lemma fold_factor : forall (A : Type) (R : rel A) (plus times : A -> A -> A) z c, PER R ->
  Rfun R (Rfun R R) plus plus -> Rfun R (Rfun R R) times times -> R z z -> R c c ->
  neutral R plus z -> distributive R times plus -> forall n x, proper R (n + 1) x ->
  R (fold plus z (n + 1) (fun i => times c (x i))) (times c (fold plus z (n + 1) x)).
Proof.
  intros A R plus times z c P Pl Ti Z C Ne D n x K.
  assert (same : forall y w a b, R a b -> (forall i, i < n -> R (y i) (w i)) ->
    R (fold plus a n y) (fold plus b n w)) by (intros; apply fold_related; auto; intros; apply Pl; auto).
  rewrite (Nat.add_comm n 1), !fold_append. simpl.
  assert (X : R (x 0) (x 0)) by (apply K; lia).
  assert (Kn : proper R n (fun i => x (1 + i))) by (intros i I; apply K; lia).
  eapply per_trans; [exact P | apply (same _ (fun i => times c (x (1 + i))) _ (times c (x 0))) |].
  - apply Ne. apply Ti; auto.
  - intros i I. apply Ti; [exact C | apply (Kn i I)].
  - eapply per_trans; [exact P | apply (@fold_distributive A R plus times c P Pl Ti C D n (x 0) _ X Kn) |].
    apply Ti; [exact C |]. apply same; [apply per_sym; [exact P | apply Ne; exact X] | exact Kn].
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
