"""Proof scripts of rules about steps that compose, as `proof_scripts` has those of others."""

from relift.rewrites.proof_scripts import IN_ORDER

FROM_FIRST = (
    "intros A R n op op' z z' xs xs' P As F Z X.\nopened.\nreduced.\n"
    + IN_ORDER
    + """
assert (Xs : forall i, i < n + 1 -> R (xs i) (xs i)) by (intros i I; exact (left _ _ (X i I))).
set (later := fun i => xs (1 + i)).
assert (Fl : forall k, k <= n -> R (fold op (xs 0) k later) (fold op (xs 0) k later)) by (intros k K; apply fold_related;
  [apply Xs; lia | intros i b c I E; apply Op; [exact E | apply Xs; lia]]).
apply (trans _ (op z (fold op (xs 0) n later))).
- assert (H : forall k, k <= n -> R (fold op z (S k) xs) (op z (fold op (xs 0) k later))).
  { induction k as [| k step]; intros K; [apply Op; [exact (left _ _ Z) | apply Xs; lia] |].
    change (fold op z (S (S k)) xs) with (op (fold op z (S k) xs) (xs (S k))).
    apply (trans _ (op (op z (fold op (xs 0) k later)) (xs (S k)))); [apply Op; [apply step; lia | apply Xs; lia] |].
    apply sym, As; [exact (left _ _ Z) | apply Fl; lia | apply Xs; lia]. }
  rewrite Nat.add_1_r. apply H. lia.
- apply F; [exact Z |]. apply fold_related; [apply X; lia |]. intros i b c I E. apply F; [exact E | apply X; lia].
"""
)

RESETS = (
    """
hnf. intros.
opened.
reduced.
match goal with N : neutral ?S op z |- _ => pose (R := S) end.
assert (P : PER R) by first [match goal with H : PER _ |- _ => exact H end | constructor; unfold R; congruence].
assert (F : Rfun R (Rfun R R) op op') by match goal with H : Rfun _ (Rfun _ _) op op' |- _ => exact H end.
assert (As : associative R op) by match goal with H : associative _ op |- _ => exact H end.
assert (Ne : neutral R op z) by match goal with H : neutral _ op z |- _ => exact H end.
assert (Z : R z z') by match goal with H : _ z z' |- _ => exact H end.
assert (Y : R x x') by match goal with H : _ x x' |- _ => exact H end.
match goal with C : Rfun ?T eq keep keep', G : Rfun ?T ?S added added', W : Rfun ?T ?S anew anew', X : Rarr n ?T xs xs' |- _ =>
  assert (C1 : forall i, i < n -> keep (xs i) = keep' (xs' i)) by (intros i I; apply C, X, I);
  assert (G1 : forall i, i < n -> R (added (xs i)) (added' (xs' i))) by (intros i I; apply G, X, I);
  assert (W1 : forall i, i < n -> R (anew (xs i)) (anew' (xs' i))) by (intros i I; apply W, X, I) end.
"""
    + IN_ORDER
    + """
set (pair := fun k => fold (fun q y => (if keep y then fst q else false, if keep y then op (snd q) (added y) else anew y)) (true, z) k xs).
assert (both : forall k, k <= n -> R (snd (pair k)) (snd (pair k)) /\\ R (fold (fun acc y => if keep y then op acc (added y) else anew y) x k xs)
  (if fst (pair k) then op x (snd (pair k)) else snd (pair k))).
{ assert (more : forall k, pair (Datatypes.S k) = (if keep (xs k) then fst (pair k) else false,
    if keep (xs k) then op (snd (pair k)) (added (xs k)) else anew (xs k))) by reflexivity.
  assert (Yl : R x x) by exact (left _ _ Y).
  induction k as [| k step]; intros K.
  - split; [exact (left _ _ Z) |]. apply sym. exact (proj2 (Ne x Yl)).
  - rewrite more. cbn [fold fst snd]. destruct (step ltac:(lia)) as [proper_k known].
    assert (Bk : R (added (xs k)) (added (xs k))) by (apply (left _ (added' (xs' k))), G1; lia).
    assert (Wk : R (anew (xs k)) (anew (xs k))) by (apply (left _ (anew' (xs' k))), W1; lia).
    destruct (keep (xs k)); [| split; exact Wk]. split; [apply Op; assumption |].
    destruct (fst (pair k)); [| apply Op; assumption].
    apply (trans _ (op (op x (snd (pair k))) (added (xs k)))); [apply Op; assumption | apply sym, As; assumption]. }
apply (trans _ _ _ (proj2 (both n (le_n n)))).
match goal with |- _ _ (if fst ?f then _ else _) => assert (V : Rpair eq R (pair n) f) end.
{ apply fold_related; [split; [reflexivity | exact Z] |]. intros i u u' I [E1 E2]. rewrite <- (C1 i I).
  destruct (keep (xs i)); split; cbn [fst snd]; [exact E1 | apply F; [exact E2 | apply G1, I] | reflexivity | apply W1, I]. }
destruct V as [V1 V2]. rewrite <- V1. destruct (fst (pair n)); [apply F; assumption | exact V2].
"""
)

KEPT = """
hnf. intros.
first [solve [relift] | match goal with E : Rpair _ _ ?a ?b |- _ => destruct a, b, E as [? ?] end;
  cbn [fst snd] in *; subst; split; reflexivity].
"""
