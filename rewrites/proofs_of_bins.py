"""Proof scripts of the rules for bins, and for what conditions keep of an array, see `proof_scripts`."""

from relift.rewrites.checks.verdicts import Direction

_CELL = """
assert (cell : forall l, l <= n -> forall j, j < m + 1 -> S (fold (f j) z l xs) (fold k (fun _ => z') l xs' j)).
{ induction l as [| l step]; intros L j J; [assumption |].
  cbn beta iota delta [fold]. specialize (step ltac:(lia)). unfold f, k at 1. rewrite ?(Z.eqb_sym (Z.of_nat j)).
  match goal with X : Rarr n R_A xs xs', K : Rfun _ eq key key' |- _ =>
    assert (V : R_A (xs l) (xs' l)) by (apply X; lia); rewrite (K _ _ V) end.
  set (at_ := key' (xs' l)) in *. unfold scatter_indices at 1. cbn [List.seq List.find].
  destruct ((0 <=? at_)%Z && (at_ <? Z.of_nat (m + 1))%Z)%bool eqn:E.
  - apply andb_prop in E. destruct E as [E1 E2]. apply Z.leb_le in E1. apply Z.ltb_lt in E2.
    rewrite Z2Nat.id by lia. rewrite Z.eqb_refl.
    destruct (at_ =? Z.of_nat j)%Z eqn:Q; [| exact (step j J)]. apply Z.eqb_eq in Q.
    match goal with G : Rfun _ (Rfun _ _) g g' |- _ => apply G; [| exact V] end.
    replace (nearest at_ (m + 1)) with j by (unfold nearest; lia). exact (step j J).
  - assert (Out : (at_ < 0 \\/ Z.of_nat (m + 1) <= at_)%Z) by (apply andb_false_iff in E;
      destruct E as [E | E]; [left; apply Z.leb_gt | right; apply Z.ltb_ge]; exact E).
    replace (at_ =? Z.of_nat j)%Z with false by (symmetry; apply Z.eqb_neq; lia).
    replace (at_ =? 0)%Z with false by (symmetry; apply Z.eqb_neq; lia).
    destruct (0 =? Z.of_nat j)%Z eqn:Q; [| exact (step j J)]. apply Z.eqb_eq in Q.
    replace (nearest 0 (m + 1)) with j by (unfold nearest; lia). exact (step j J). }
"""
"""What a fold has in a cell is what a fold for that cell alone has: whether the key is an index, and this one."""

FOLD_OF_BINS = (
    """
hnf.
intros.
opened.
reduced.
match goal with |- Rarr _ ?r (fun i => fold (@?one i) z n xs) (fold ?all _ n xs') =>
  set (S := r); set (f := one); set (k := all) end.
"""
    + _CELL
    + "exact (cell n ltac:(lia)).\n"
)

FOLD_OF_BINS_DEFINED: dict[Direction, str] = {
    "forward": """
hnf.
intros.
opened.
unfold generate_defined, fold_defined, let_defined, scatter_indices_defined, gather_indices_defined, every in *.
reduced.
match goal with H : forall i, i < m + 1 -> _ /\\ (forall j, j < n -> _ /\\ D_g (fold (@?one i) z j xs) _),
  Z : ?r z z' |- _ /\\ (forall j, j < n -> _ /\\ (_ /\\ D_g' (fold ?all _ j xs' _) _) /\\ _) =>
  rename H into each; set (S := r); set (f := one) in *; set (k := all) in * end.
"""
    + _CELL
    + """
destruct (each 0 ltac:(lia)) as [start keys].
split; [tauto |]. intros l L. destruct (keys l L) as [Dk _].
assert (V : R_A (xs l) (xs' l)) by (match goal with X : Rarr n R_A xs xs' |- _ => apply X, L end).
assert (Dk' : D_key' (xs' l)) by (match goal with E : Rfun _ iff D_key D_key' |- _ => apply (E _ _ V), Dk end).
match goal with |- _ /\\ ((_ /\\ in_range _ ?e) /\\ _) /\\ _ => set (c := e) in *;
  assert (at_ : in_range (m + 1) c) by (unfold c, in_range; destruct (_ && _)%bool eqn:E; [| lia];
  apply andb_prop in E; destruct E as [_ E]; apply Z.ltb_lt in E; lia) end.
split; [exact Dk' |]. split; [split; [split; [exact Dk' | exact at_] |] | split; intros; [exact at_ | lia]].
assert (J : nearest c (m + 1) < m + 1) by (unfold nearest; lia).
destruct (each _ J) as [_ inside]. destruct (inside l L) as [_ Dg].
match goal with E : Rfun _ (Rfun _ iff) D_g D_g' |- _ => apply (E _ _ (cell l ltac:(lia) _ J) _ _ V), Dg end.
""",
}

CELL_BY_CELL = """
hnf.
intros.
opened.
reduced.
intros j J.
match goal with |- ?S (fold _ _ _ _) _ => apply (fold_related S);
  [first [assumption | match goal with Z : Rarr _ S ?zs _ |- S (?zs _) _ => apply Z, J end] |] end.
intros i b c I E.
reduced.
match goal with X : Rarr n _ xs xs' |- _ => pose proof (X i I) as V end.
try match goal with K : Rfun _ eq _ _ |- _ => rewrite (K _ _ V) end.
try (destruct V as [same V]; rewrite same).
match goal with |- _ (if ?l then _ else _) (if ?r then _ else _) => assert (same_cell : l = r);
  [| try rewrite <- same_cell; destruct l; [match goal with O : Rfun _ (Rfun _ _) op op' |- _ => apply O end |];
  first [exact E | exact V | match goal with W : Rfun _ _ _ _ |- _ => apply W, V end]] end.
lazymatch goal with
| |- (?at_ =? _)%Z = ((if (_ =? Z.of_nat (j / ?m))%Z then if (_ && (_ <? ?end_)%Z)%bool then _ else _ else _) =? _)%Z =>
  set (key_ := at_); destruct ((0 <=? key_)%Z && (key_ <? end_)%Z)%bool eqn:G;
  [ apply andb_prop in G; destruct G as [G _]; apply Z.leb_le in G; rewrite <- (Z2Nat.id key_ G);
    set (at_key := Z.to_nat key_); rewrite ?Nat2Z.id;
    destruct (Z.eqb_spec (Z.of_nat at_key) (Z.of_nat j)) as [Same | Other]; symmetry;
    [ apply Nat2Z.inj in Same; rewrite Same, Z.eqb_refl; apply Z.eqb_refl
    | destruct (Z.eqb_spec (Z.of_nat (at_key / m)) (Z.of_nat (j / m))) as [B | B]; apply Z.eqb_neq; [| lia];
      intros Q; apply Other, f_equal; apply Nat2Z.inj in B; apply Nat2Z.inj in Q;
      rewrite (Nat.div_mod_eq at_key m), (Nat.div_mod_eq j m), B, Q; reflexivity ]
  | destruct (Z.eqb_spec key_ (Z.of_nat j)) as [Same | Other]; symmetry;
    [ apply andb_false_iff in G; destruct G as [G | G]; [apply Z.leb_gt in G | apply Z.ltb_ge in G]; lia
    | apply Z.eqb_neq; destruct (_ =? _)%Z; lia ] ]
| |- _ => rewrite ?(Z.eqb_sym (Z.of_nat j)); reflexivity
end.
"""
"""What is done to a cell is the same, whoever asks whether a key is its index: in the key of a block its place in that, or none."""

FOLDS_BY_TWO_KEYS = """
hnf.
intros.
opened.
reduced.
intros c C.
assert (K : 0 < k) by (destruct k; [exfalso; rewrite ?Nat.mul_0_r, ?Nat.mul_0_l in C |]; lia).
assert (D : c / k < m) by (apply Nat.div_lt_upper_bound; lia).
assert (M : c mod k < k) by (apply Nat.mod_upper_bound; lia).
pose proof (Nat.div_mod_eq c k) as whole.
match goal with |- ?S (fold _ _ _ _) _ => apply (fold_related S); [assumption |] end.
intros i a b I E.
reduced.
match goal with X : Rarr n _ xs xs' |- _ => pose proof (X i I) as V end.
repeat match goal with K : Rfun _ eq ?f ?f' |- context [?f (xs i)] => rewrite (K _ _ V) end.
rewrite ?(Z.eqb_sym (Z.of_nat (c / k))), ?(Z.eqb_sym (Z.of_nat (c mod k))).
set (p := first' (xs' i)). set (q := second' (xs' i)).
match goal with |- _ (if ?l then _ else _) (if ?r then _ else _) => assert (same_cell : l = r);
  [| rewrite <- same_cell; destruct l; [match goal with G : Rfun _ (Rfun _ _) g g' |- _ => apply G; assumption end | exact E]] end.
destruct ((0 <=? q)%Z && (q <? Z.of_nat k)%Z)%bool eqn:Q; [destruct ((0 <=? p)%Z && (p <? Z.of_nat m)%Z)%bool eqn:P |].
- apply andb_prop in P. destruct P as [P _]. apply andb_prop in Q. destruct Q as [Q Q']. apply Z.leb_le in P, Q. apply Z.ltb_lt in Q'.
  destruct (Z.eqb_spec (Z.of_nat (Z.to_nat p * k + Z.to_nat q)) (Z.of_nat c)) as [Same | Other].
  + apply Nat2Z.inj in Same.
    assert (U : Z.to_nat p = c / k) by (apply (Nat.div_unique c k _ (Z.to_nat q)); lia).
    assert (W : Z.to_nat q = c mod k) by (apply (Nat.mod_unique c k (Z.to_nat p)); lia).
    rewrite <- U, <- W, !Z2Nat.id, !Z.eqb_refl by assumption. reflexivity.
  + destruct (Z.eqb_spec p (Z.of_nat (c / k))) as [U |], (Z.eqb_spec q (Z.of_nat (c mod k))) as [W |]; try reflexivity.
    exfalso. apply Other. rewrite U, W, !Nat2Z.id. lia.
- replace (p =? Z.of_nat (c / k))%Z with false; [rewrite ?andb_false_r; symmetry; apply Z.eqb_neq; lia |].
  symmetry. apply Z.eqb_neq. apply andb_false_iff in P. destruct P as [P | P]; [apply Z.leb_gt in P | apply Z.ltb_ge in P]; lia.
- replace (q =? Z.of_nat (c mod k))%Z with false; [rewrite ?andb_false_r; symmetry; apply Z.eqb_neq; lia |].
  symmetry. apply Z.eqb_neq. apply andb_false_iff in Q. destruct Q as [Q | Q]; [apply Z.leb_gt in Q | apply Z.ltb_ge in Q]; lia.
"""
"""What is done to a cell is the same, whether its two keys are asked for or their place among all."""

FOLDS_OF_ROWS = """
hnf.
intros.
opened.
reduced.
intros i I.
match goal with |- ?r (fold g z n _) (fold ?step z' _ ?elements) => set (R := r); set (h := step); set (all := elements) end.
assert (until : forall l, l <= m -> R (if Nat.ltb i l then fold g z n (xss i) else z) (fold h z' (l * n) all)).
{ induction l as [| l IH]; intros L; [assumption |].
  specialize (IH ltac:(lia)). replace (S l * n) with (l * n + n) by lia. rewrite fold_append.
  assert (row : forall q, q < n -> all (l * n + q) = (Z.of_nat l, xss' l q)).
  { intros q Q. unfold all. replace ((l * n + q) / n) with l by (apply (Nat.div_unique _ n _ q); lia).
    replace ((l * n + q) mod n) with q by (apply (Nat.mod_unique _ n l); lia). reflexivity. }
  destruct (Nat.eq_dec i l) as [Same | Other].
  - subst l. rewrite (proj2 (Nat.ltb_lt i (S i))) by lia. rewrite Nat.ltb_irrefl in IH.
    apply (fold_related R); [exact IH |]. intros q b c Q E. unfold h. rewrite row by exact Q. cbn [fst snd]. rewrite Z.eqb_refl.
    match goal with G : Rfun _ (Rfun _ _) g g', X : Rarr m _ xss xss' |- _ => apply G; [exact E | apply X; assumption] end.
  - assert (still : forall q a, q <= n -> fold h a q (fun q => all (l * n + q)) = a).
    { induction q as [| q more]; intros a Q; [reflexivity |]. cbn [fold]. rewrite more by lia. unfold h. rewrite row by lia. cbn [fst snd].
      destruct (Z.eqb_spec (Z.of_nat l) (Z.of_nat i)); [lia | reflexivity]. }
    rewrite still by lia. replace (Nat.ltb i (S l)) with (Nat.ltb i l); [exact IH |].
    destruct (Nat.ltb_spec i l), (Nat.ltb_spec i (S l)); try reflexivity; lia. }
specialize (until m (le_n m)). rewrite (proj2 (Nat.ltb_lt i m) I) in until. exact until.
"""
"""Whatever is of another row changes nothing: up to the row there is what there was at first, and from it on what it comes to."""

REDUCE_BY_INDEX_GATHER = """
start.
intros j J.
set (S := fun u v : option A => match u, v with Some a, Some b => R_A a b | None, None => True | _, _ => False end).
set (add := fun u v : option A => match u, v with Some a, Some b => Some (op a b) | None, _ => v | _, None => u end).
set (item := fun x : Z * A => if (fst x =? Z.of_nat j)%Z then Some (snd x) else None).
assert (lifted : forall k (ys : arr (Z * A)) z, fold add (Some z) k (fun i => item (ys i)) =
  Some (fold (fun acc x => if (fst x =? Z.of_nat j)%Z then op acc (snd x) else acc) z k ys)).
{ induction k as [| k more]; intros ys z; cbn [fold]; [reflexivity |]. rewrite more. unfold item, add.
  destruct (_ =? _)%Z; reflexivity. }
match goal with X : Rarr n _ xs xs', Z : Rarr m _ zs zs', Y : Rarr n _ xs xs, W : Rarr m _ zs zs |- _ =>
  rename X into items, Z into cells, Y into each, W into starts end.
match goal with |- R_A ?l ?r => assert (moved : S (Some l)
  (Some (fold (fun acc x => if (fst x =? Z.of_nat j)%Z then op acc (snd x) else acc) (zs j) n xs))) end.
{ rewrite <- !lifted. refine (@fold_permutation _ S add (Some (zs j)) _ _ _ _ _ n p (fun i => item (xs i)) _ _ _).
  - split; [intros [a |] [b |]; cbn; auto; apply per_sym; assumption |
      intros [a |] [b |] [c |]; cbn; try tauto; apply per_trans; assumption].
  - match goal with O : Rfun R_A _ op op |- _ =>
      intros [a |] [b |] E [c |] [d |] F; cbn in *; try tauto; apply O; assumption end.
  - apply starts, J.
  - match goal with L : associative R_A op, O : Rfun R_A _ op op |- _ =>
      intros [a |] [b |] [c |]; cbn; intros; first [tauto | apply L; assumption | apply O; assumption] end.
  - match goal with L : commutative R_A op |- _ => intros [a |] [b |]; cbn; intros; first [tauto | apply L; assumption] end.
  - match goal with I : Rindex n p _ |- _ => intros i L; apply I, L end.
  - assumption.
  - intros i L. unfold item. destruct (_ =? _)%Z; [apply each, L | exact Logic.I]. }
cbn in moved. apply per_trans with (2 := moved); [assumption |].
apply (fold_related R_A); [apply cells, J |].
intros i b c L E. destruct (items i L) as [key value]. rewrite key.
match goal with O : Rfun R_A _ op op' |- _ => destruct (_ =? _)%Z; [apply O; assumption | exact E] end.
"""

REDUCE_BY_INDEX_FROM_NEUTRAL = """
start.
intros j J.
assert (trans := per_trans (R := R_A) ltac:(per)).
assert (sym := per_sym (R := R_A) ltac:(per)).
assert (until : forall l, l <= n ->
  R_A (fold (fun acc x => if (fst x =? Z.of_nat j)%Z then op acc (snd x) else acc) (zs j) l xs)
    (op' (zs' j) (fold (fun acc x => if (fst x =? Z.of_nat j)%Z then op' acc (snd x) else acc) z' l xs'))
  /\\ R_A (fold (fun acc x => if (fst x =? Z.of_nat j)%Z then op' acc (snd x) else acc) z' l xs')
    (fold (fun acc x => if (fst x =? Z.of_nat j)%Z then op' acc (snd x) else acc) z' l xs')).
2: apply (until n (le_n n)).
lazymatch goal with N : neutral R_A op' z', L : associative R_A op', X : Rarr n _ xs xs', W : Rarr n _ xs' xs',
  Y : Rarr m R_A zs' zs', Z : Rarr m R_A zs zs', O : Rfun R_A _ op op', P : Rfun R_A _ op' op' |- _ =>
  rename N into Ne; rename L into As; rename X into items; rename W into each; rename O into Op; rename P into Own;
  assert (here := Y j J); assert (start_ := Z j J) end.
induction l as [| l IH]; intros L; cbn [fold].
- split; [apply trans with (zs' j); [exact start_ | apply sym; apply Ne; exact here] | assumption].
- destruct IH as [so far]; [lia |]. destruct (items l L) as [key value], (each l L) as [_ own]. rewrite key.
  destruct (_ =? _)%Z; [| split; assumption]. split; [| apply Own; assumption].
  apply trans with (op' (op' (zs' j) (fold (fun acc x => if (fst x =? Z.of_nat j)%Z then op' acc (snd x) else acc) z' l xs')) (snd (xs' l))).
  + apply Op; assumption.
  + apply sym. apply As; assumption.
"""
"""What a cell had at first comes before all that is combined with it."""

SELECT_NEUTRAL = """
hnf.
intros.
match goal with C : c = c' |- _ => destruct C end.
match goal with N : neutral ?S _ _, A : ?S acc acc' |- _ =>
  assert (E : S acc acc) by first [reflexivity | match goal with P : PER S |- _ =>
    apply (per_trans P) with acc'; [exact A | apply (per_sym P); exact A] end];
  destruct (N acc E) as [_ kept]; destruct c; [relift |];
  first [rewrite kept; exact A | match goal with P : PER S |- _ => apply (per_trans P) with acc; [exact kept | exact A] end] end.
"""

LOOKED_UP_OR_COMPUTED = """
hnf.
intros.
opened.
reduced.
intros j J.
match goal with X : Rarr n _ xs xs', F : Rfun _ _ f f' |- _ =>
  rewrite <- (X j J); assert (V : R_B (f (xs j)) (f' (xs j))) by (apply F; reflexivity) end.
destruct (_ && _)%bool eqn:E; [| exact V]. apply andb_prop in E. destruct E as [E _]. apply Z.leb_le in E.
rewrite Z2Nat.id by exact E. exact V.
"""

BEFORE_EACH_MASKED = """
hnf.
intros.
opened.
reduced.
intros i I.
match goal with N : neutral ?S op z |- _ => set (R := S) in * end.
assert (P : PER R) by first [assumption | exact (PER_eq _)].
match goal with N : neutral _ op z, F : Rfun _ _ op op', Q : _ z z', X : Rarr n _ xs xs' |- _ =>
  rename N into Ne; rename F into Op; rename Q into Zs; rename X into Xs end.
match goal with |- _ (fold op' z' n ?g) => set (masked := g) end.
assert (until : forall j, j <= n -> R (fold op z (Nat.min j i) xs) (fold op' z' j masked)).
{ induction j as [| j IH]; intros J; [exact Zs |].
 specialize (IH ltac:(lia)). 
 replace (fold op' z' (S j) masked) with (op' (fold op' z' j masked) (masked j)) by reflexivity.
 unfold masked at 2.
 destruct (Z.ltb_spec (Z.of_nat j) (Z.of_nat i)) as [Before | Later].
 - replace (Nat.min (S j) i) with (S j) by lia. rewrite (Nat.min_l j i) in IH by lia.
   apply Op; [exact IH | apply Xs; lia].
 - replace (Nat.min (S j) i) with (Nat.min j i) by lia. set (a := fold op z (Nat.min j i) xs) in *.
   assert (A : R a a) by (apply (per_trans P) with (fold op' z' j masked); [exact IH | apply (per_sym P); exact IH]).
   apply (per_trans P) with (op a z); [apply (per_sym P); apply Ne; exact A | apply Op; [exact IH | exact Zs]]. }
specialize (until n (le_n n)).
rewrite Nat.min_r in until by lia.
destruct (Nat.ltb_spec i 1) as [Small | Large].
- replace i with 0 in until at 1 by lia. exact until.
- replace (S (i - 1)) with i by lia. exact until.
"""
"""Of so many elements the fold of those marked is that of the first, while there are such, and then it remains."""
