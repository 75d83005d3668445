"""Proof scripts of rules about operators that count an element once, as `proof_scripts` has those of others."""

from relift.rewrites.proof_scripts import IN_ORDER

REDUCE_TWICE = (
    """
intros A R n op op' z z' xs xs' P As Co Id F Z X.
opened.
"""
    + IN_ORDER
    + """
assert (Xs : forall i, i < n -> R (xs i) (xs i)) by (intros i I; exact (left _ _ (X i I))).
assert (Z1 : R z z) by (exact (left _ _ Z)).
assert (Fl : forall k, k <= n -> R (fold op z k xs) (fold op z k xs)) by (intros k K; apply fold_related;
  [exact Z1 | intros i b c I E; apply Op; [exact E | apply Xs; lia]]).
assert (kept : forall a v w, R a a -> R v v -> R w w -> R (op a v) a -> R (op (op a w) v) (op a w)).
+ intros a v w Qa Qv Qw E. apply (trans _ (op a (op w v))); [apply sym, As; assumption |].
  apply (trans _ (op a (op v w))); [apply Op; [assumption | apply Co; assumption] |].
  apply (trans _ (op (op a v) w)); [apply As; assumption |]. apply Op; assumption.
+ assert (absorbs : forall k, k <= n -> forall i, i < k -> R (op (fold op z k xs) (xs i)) (fold op z k xs)).
  * induction k as [| k step]; intros K i I; [lia |]. simpl.
    assert (Q : R (fold op z k xs) (fold op z k xs)) by (apply Fl; lia).
    destruct (Nat.eq_dec i k) as [E | E].
    { subst i. apply (trans _ (op (fold op z k xs) (op (xs k) (xs k)))); [apply sym, As; [exact Q | apply
        Xs; lia | apply Xs; lia] |]. apply Op; [exact Q |]. apply Id. apply Xs. lia. }
    { apply kept; [exact Q | apply Xs; lia | apply Xs; lia | apply step; lia]. }
  * assert (again : forall k, k <= n -> R (fold op (fold op z n xs) k xs) (fold op z n xs)).
    { induction k as [| k step]; intros K; simpl; [apply Fl; lia |].
      apply (trans _ (op (fold op z n xs) (xs k))); [apply Op; [apply step; lia | apply Xs; lia] | apply
        absorbs; lia]. }
    { replace (2 * n) with (n + n) by lia. rewrite fold_append.
      apply (trans _ (fold op (fold op z n xs) n xs)).
      + apply fold_related.
        - apply fold_related; [exact Z1 |]. intros i b c I E. apply Op; [exact E |]. destruct (Nat.ltb_spec
            i n) as [L | L]; [apply Xs; exact I | lia].
        - intros i b c I E. apply Op; [exact E |]. destruct (Nat.ltb_spec (n + i) n) as [L | L]; [lia |].
            replace (n + i - n) with i by lia. apply Xs; exact I.
      + apply (trans _ (fold op z n xs)); [apply again; lia |]. apply fold_related; [exact Z |]. intros i b
          c I E. apply F; [exact E | apply X; exact I]. }
"""
)

_FROM_ONE_START = """
assert (Z1 : R z z) by exact (left _ _ Z).
assert (folded : forall l y a, R a a -> proper R l y -> R (fold op a l y) (fold op a l y))
  by (intros l y a Q Y; apply fold_related; [exact Q | intros i b c I E; apply Op; [exact E | apply Y; exact I]]).
assert (less : forall l y, proper R (S l) y -> proper R l y /\\ R (y l) (y l))
  by (intros l y Y; split; [intros i I; apply Y; lia | apply Y; lia]).
assert (from : forall l y a, R a a -> R (op a z) a -> proper R l y -> R (fold op a l y) (op a (fold op z l y))).
{ induction l as [| l step]; intros y a Q E Y; simpl; [apply sym; exact E |].
  destruct (less l y Y) as [Yl V].
  apply (trans _ (op (op a (fold op z l y)) (y l))); [apply Op; [apply step; assumption | exact V] |].
  apply sym. apply As; [exact Q | apply folded; assumption | exact V]. }
assert (again : forall l y, proper R l y -> R (op (fold op z l y) z) (fold op z l y)).
{ induction l as [| l step]; intros y Y; simpl; [apply Id; exact Z1 |].
  destruct (less l y Y) as [Yl V].
  assert (Q : R (fold op z l y) (fold op z l y)) by (apply folded; assumption).
  apply (trans _ (op (fold op z l y) (op z (y l)))).
  - apply (trans _ (op (fold op z l y) (op (y l) z))); [apply sym; apply As; assumption |].
    apply Op; [exact Q | apply Co; assumption].
  - apply (trans _ (op (op (fold op z l y) z) (y l))); [apply As; assumption |].
    apply Op; [apply step; exact Yl | exact V]. }
assert (chunks : forall l c y, proper R (c * l) y ->
  R (fold op z (c * l) y) (fold op z c (fun i => fold op z l (fun j => y (i * l + j))))).
{ intros l c y. induction c as [| c step]; intros Y; simpl; [exact Z1 |].
  rewrite (Nat.add_comm l), fold_append.
  assert (Yc : proper R (c * l) y) by (intros i I; apply Y; simpl; lia).
  assert (Yl : proper R l (fun j => y (c * l + j))) by (intros i I; apply Y; simpl; lia).
  apply (trans _ (op (fold op z (c * l) y) (fold op z l (fun j => y (c * l + j))))).
  - apply from; [apply folded; assumption | apply again; exact Yc | exact Yl].
  - apply Op; [apply step; exact Yc | apply folded; assumption]. }
"""
"""Of an idempotent operator that commutes: chunks may each begin with the start, which is combined with itself."""

_IN_CHUNKS = (
    """
intros A R k m op op' z z' xs xs' P M As Co Id F Z X.
opened.
reduced.
"""
    + IN_ORDER
    + _FROM_ONE_START
    + """
assert (Xs : proper R (k * m) xs) by (intros i I; exact (left _ _ (X i I))).
"""
)

REDUCE_CONCAT_IDEMPOTENT = (
    """
intros A R m n op op' z z' xs xs' ys ys' P As Co Id F Z X1 X2.
opened.
"""
    + IN_ORDER
    + _FROM_ONE_START
    + """
assert (Xs : proper R n xs) by (intros i I; exact (left _ _ (X1 i I))).
assert (Ys : proper R m ys) by (intros i I; exact (left _ _ (X2 i I))).
rewrite (Nat.add_comm m n), fold_append.
apply (trans _ (op (fold op z n xs) (fold op z m ys))).
- apply (trans _ (fold op (fold op z n xs) m ys)).
  + apply fold_related; [apply fold_related; [exact Z1 |] |]; intros i b c I E; apply Op; try exact E.
    * destruct (Nat.ltb_spec i n); [apply Xs; exact I | lia].
    * destruct (Nat.ltb_spec (n + i) n); [lia |]. replace (n + i - n) with i by lia. apply Ys; exact I.
  + apply from; [apply folded; [exact Z1 | exact Xs] | apply again; exact Xs | exact Ys].
- apply F; apply fold_related; try exact Z; intros i b c I E; apply F; try exact E; [apply X1 | apply X2]; exact I.
"""
)

REDUCE_CHUNKS_IDEMPOTENT = (
    _IN_CHUNKS
    + """apply (trans _ _ _ (chunks m k xs Xs)).
apply fold_related; [exact Z | intros i b c I E; apply F; [exact E |]].
apply fold_related; [exact Z | intros j d e J G; apply F; [exact G | apply X; nia]].
"""
)

REDUCE_STRIDED_IDEMPOTENT = (
    _IN_CHUNKS
    + """set (p := fun t => t / k + m * (t mod k)).
assert (below : forall t, t < m * k -> p t < m * k) by (intros t T; apply stride_below with (c := k); lia).
apply (trans _ (fold op z (m * k) (fun t => xs (p t)))).
- apply sym. rewrite (Nat.mul_comm k m).
  apply (@fold_permutation _ R op z P Op Z1 As Co (m * k) p); [exact below | |].
  + intros j J. apply (@stride_reached (m * k) k m); lia.
  + intros i I. apply Xs. lia.
- assert (Ys : proper R (m * k) (fun t => xs (p t))) by (intros t T; apply Xs; specialize (below t T); lia).
  apply (trans _ _ _ (chunks k m _ Ys)).
  apply fold_related; [exact Z | intros i b c I E; apply F; [exact E |]].
  apply fold_related; [exact Z | intros j d e J G; apply F; [exact G |]].
  unfold p. rewrite div_unique, mod_unique by exact J. replace (i + m * j) with (j * m + i) by lia. apply X. nia.
"""
)

REDUCE_PAD_CLAMP_IDEMPOTENT = (
    """
intros A R n r op op' z z' xs xs' P As Id F Z X.
opened.
"""
    + IN_ORDER
    + """
assert (Z1 : R z z) by exact (left _ _ Z).
assert (Xs : forall i, i < n + 1 -> R (xs i) (xs i)) by (intros i I; exact (left _ _ (X i I))).
assert (Fl : forall k, k <= n + 1 -> R (fold op z k xs) (fold op z k xs)) by (intros k K; apply fold_related;
  [exact Z1 | intros i b c I E; apply Op; [exact E | apply Xs; lia]]).
set (again := fun i => xs (Nat.min (i - 0) (n + 1 - 1))).
apply (trans _ (fold op z (n + 1) xs)).
- replace (n + r + 1) with (n + 1 + r) by lia. induction r as [| k step]; [rewrite Nat.add_0_r | rewrite Nat.add_succ_r].
  + apply fold_related; [exact Z1 | intros i b c I E; apply Op; [exact E |]].
    unfold again. replace (Nat.min (i - 0) (n + 1 - 1)) with i by lia. apply Xs. exact I.
  + simpl. unfold again at 2. replace (Nat.min (n + 1 + k - 0) (n + 1 - 1)) with n by lia.
    apply (trans _ (op (fold op z (n + 1) xs) (xs n))); [apply Op; [exact step | apply Xs; lia] |].
    rewrite Nat.add_1_r. simpl. apply (trans _ (op (fold op z n xs) (op (xs n) (xs n)))).
    * apply sym, As; [apply Fl; lia | apply Xs; lia | apply Xs; lia].
    * apply Op; [apply Fl; lia | apply Id, Xs; lia].
- apply fold_related; [exact Z | intros i b c I E; apply F; [exact E | apply X; exact I]].
"""
)
