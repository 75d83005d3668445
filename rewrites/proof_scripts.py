"""Proof scripts of rules whose proof needs an induction, or a cut, that no tactic finds.

Each is a list of Rocq's tactics, after `Tactic.v`, on the statement of the rule that bears its name; tier 4b runs it and
audits what it proves; those called DEFINED are on what is stated of where its sides are defined, by direction.
"""

from relift.rewrites.checks.verdicts import Direction

IN_ORDER = """
assert (sym : forall a b, R a b -> R b a) by apply (per_sym P).
assert (trans : forall a b c, R a b -> R b c -> R a c) by (intros a b c; apply (per_trans P)).
assert (left : forall a b, R a b -> R a a) by (intros a b E; exact (trans _ _ _ E (sym _ _ E))).
assert (Op : Rfun R (Rfun R R) op op) by (intros a b E c d G;
  apply (trans _ (op' b d)); [apply F; assumption | apply sym; apply F;
  [exact (left _ _ (sym _ _ E)) | exact (left _ _ (sym _ _ G))]]).
"""
"""Of an operator on elements related by R: both orders, chains, and that it respects R on its own."""

ITERATE_TRANSPOSED = """
intros A R k m n f f' xss xss' P F X.
unfold transpose.
induction k as [| k step].
- intros i I j J. apply X; assumption.
- intros i I j J. simpl. refine (F _ _ _ j J i I). intros a La b Lb. exact (step b Lb a La).
"""

_ROLLED = "intros A RA B RB C RC n f f' g g' c c' xs xs'"
_ROLLED_STEPS = """
apply (fold_related (fun s q => RB s (g' q))); [exact (G _ _ Z) |].
intros j s q J E. refine (G _ _ (F _ _ E _ _ (X j _))). lia.
"""
"""The state is what the other fold's is seen as, after every step."""

FOLD_ROLLED = f"{_ROLLED} PA PB PC F G Z X. cbv delta [reduce_seq scan_seq map let_in] beta. try intros i I. {_ROLLED_STEPS}"
"""Of a fold and of a scan, whose elements are folds."""

_ROLLED_FORWARD = f"""
{_ROLLED} Dc Dc' Dg Dg' Dx Dx' Df Df' PA PB PC F G Z X Ec Eg Ex Ef [[[Kc Kg] Kx] K].
unfold let_defined, fold_defined, reduce_seq, scan_seq, let_in in *.
assert (W : forall k, k <= n -> exists u, RC u (fold (fun q x => f' (g' q) x) c' k xs')
  /\\ fold (fun s x => g (f s x)) (g c) k xs = g u /\\ Dg u).
{{ induction k as [| k IH]; intros L; simpl; [exists c; auto |].
  destruct (IH ltac:(lia)) as [u [U [V T]]]. destruct (K k L) as [_ M]. rewrite V in *.
  exists (f (g u) (xs k)). split; [exact (F _ _ (G _ _ U) _ _ (X k L)) | auto]. }}
split; [split; [tauto |] |].
- intros k L. destruct (W k ltac:(lia)) as [u [U [V T]]]. destruct (K k L) as [M _]. rewrite V in M.
  split; [exact (proj1 (Eg _ _ U) T) | exact (proj1 (Ef _ _ (G _ _ U) _ _ (X k L)) M)].
"""
_ROLLED_BACKWARD = f"""
{_ROLLED} Dc Dc' Dx Dx' Df Df' PA PB PC F G Z X Ec Ex Ef [Kc K].
split; [tauto |]. unfold fold_defined, let_in in *. intros k L. refine (proj2 (Ef _ _ _ _ _ (X k L)) (K k L)).
{_ROLLED_STEPS}
"""
REDUCE_SEQ_ROLLED_DEFINED: dict[Direction, str] = {
    "forward": f"{_ROLLED_FORWARD}- destruct (W n (le_n n)) as [u [U [V T]]]. exact (proj1 (Eg _ _ U) T).",
    "backward": _ROLLED_BACKWARD,
}
SCAN_SEQ_ROLLED_DEFINED: dict[Direction, str] = {
    "forward": f"{_ROLLED_FORWARD}- intros k L. destruct (W (S k) L) as [u [U [V T]]]. exact (proj1 (Eg _ _ U) T).",
    "backward": _ROLLED_BACKWARD,
}

_AFTER = """
intros A RA B RB C RC n f f' g g' y y' z z' xs xs' Dy Dy' Dz Dz' Dx Dx' Df Df' Dg Dg' PA PB PC F G Y Z X Ey Ez Ex Ef Eg
  [[[K1 K2] K3] K].
split; [tauto |].
"""
_AFTER_STEPS = """
assert (H : forall k, k <= n -> Rpair RB RC (fold l a k b) (fold r c k d)).
{ induction k as [| k step]; intros N; [split; assumption |]. destruct (step ltac:(lia)) as [U V].
  assert (W : RA (xs k) (xs' k)) by (apply X; lia). subst l r a b c d. cbn [fold]. unfold let_in, zip in *. cbn [fst snd] in *.
  split; [apply F | apply G]; assumption. }
intros i I. destruct (H i ltac:(lia)) as [U V]. specialize (K i I). subst l r a b c d.
unfold let_defined, let_in, zip in *. cbn [fst snd] in *.
"""
REDUCE_SEQ_AFTER_DEFINED: dict[Direction, str] = {
    "forward": f"""{_AFTER}
match type of K with fold_defined ?f _ ?z _ ?x => set (l := f) in K; set (a := z) in K; set (b := x) in K end.
match goal with |- fold_defined ?f _ ?z _ ?x => set (r := f); set (c := z); set (d := x) end.
{_AFTER_STEPS}
destruct K as [Kf Kg]. split; [exact (proj1 (Eg _ _ V _ _ (X i I)) Kg) | exact (proj1 (Ef _ _ U _ _ V _ _ (X i I)) Kf)].
""",
    "backward": f"""{_AFTER}
match type of K with fold_defined ?f _ ?z _ ?x => set (r := f) in K; set (c := z) in K; set (d := x) in K end.
match goal with |- fold_defined ?f _ ?z _ ?x => set (l := f); set (a := z); set (b := x) end.
{_AFTER_STEPS}
destruct K as [Kg Kf]. split; [exact (proj2 (Ef _ _ U _ _ V _ _ (X i I)) Kf) | exact (proj2 (Eg _ _ V _ _ (X i I)) Kg)].
""",
}

_STEP = """
assert (F : forall l, Rfun (Rarr (l * (q + 1)) R) (Rarr l R) (partial_reduce op z (q + 1)) (partial_reduce op' z' (q + 1))).
{ intros l x y L i I. unfold partial_reduce. apply fold_related; [exact Z |]. intros j b c J B. apply O;
  [exact B | apply L; nia]. }
"""
"""Of a partial reduction: it takes related arrays to related ones, of every length."""

ITERATE_SIZES_ADD = f"""
intros A R k m n q op op' z z' xs xs' P O Z X.
{_STEP}
revert xs xs' X; induction m as [| j IH]; intros xs xs' X; simpl.
- rewrite Nat.add_0_r. apply iterate_sizes_related; [exact F |]. replace (n * (q + 1) ^ k) with ((q + 1)
  ^ k * (q + 1) ^ 0 * n) by (simpl; nia). exact X.
- rewrite Nat.add_succ_r. simpl. apply IH. apply F. replace ((q + 1) ^ k * (q + 1) ^ j * n * (q + 1))
  with ((q + 1) ^ k * (q + 1) ^ S j * n) by (simpl; nia). exact X.
"""

LOOKED_UP_IN_TURN = """
hnf.
intros.
opened.
intros i I.
match goal with X : Rarr ?l _ xs xs' |- _ => replace (nearest (Z.of_nat i) l) with i by (unfold nearest; lia); apply X; lia end.
"""

_STEPS_OF_A_FOLD = """
match goal with |- context [iterate _ ?g (0%Z, _)] =>
  assert (E : forall k, k <= n -> fst (iterate k g (0%Z, z')) = Z.of_nat k
    /\\ S (fold f z k xs) (snd (iterate k g (0%Z, z')))) end.
{ induction k as [| k step]; intros L; cbn [fold iterate fst snd]; [split; [reflexivity | exact Z] |].
  destruct step as [I K]; [lia |]. rewrite I. split; [lia |].
  unfold at_runtime_unsafe, nearest. rewrite Nat2Z.id, Nat.min_l by lia. apply F; [exact K | apply X; lia]. }
"""
"""Of a fold that counts: after k steps the counter is k, and the rest what k elements fold to."""

REDUCE_SEQ_ITERATE = f"""
intros A R B S n f f' z z' xs xs' P Q M F Z X.
unfold reduce_seq.
{_STEPS_OF_A_FOLD}
exact (proj2 (E n (le_n n))).
"""

REDUCE_SEQ_ITERATE_DEFINED: dict[Direction, str] = {
    "forward": f"""
intros A R B S n f f' z z' xs xs' Dz Dz' Dx Dx' Df Df' P Q M F Z X Ez Ex Ef [[Kz Kx] Kf].
split; [tauto |].
unfold iterate_defined.
{_STEPS_OF_A_FOLD}
intros i L. destruct (E i ltac:(lia)) as [I K]. cbn beta. rewrite I.
split; [split; [tauto | unfold in_range; lia] |].
unfold at_runtime_unsafe, nearest. rewrite Nat2Z.id, Nat.min_l by lia.
apply (Ef _ _ K _ _ (X i L)). exact (Kf i L).
""",
}

REDUCE_ITERATE = f"""
intros A R k m q op op' z z' xs xs' P A1 N O Z X.
{_STEP}
revert xs xs' X; induction m as [| j IH]; intros xs xs' X; simpl.
- unfold reduce. simpl in *. rewrite Nat.add_0_r in *. apply fold_related; [exact Z |]. intros i b c I B.
  apply O; [exact B | apply X; exact I].
- assert (twice : forall l x x', Rarr (l * (q + 1)) R x x' -> R (reduce op z (l * (q + 1)) x) (reduce op
  z l (partial_reduce op z (q + 1) x'))).
{{ clear IH F X. intros. relift. }}
  rewrite Nat.pow_succ_r' in X. replace ((q + 1) * (q + 1) ^ j * k) with ((q + 1) ^ j * k * (q + 1)) in *
  by (rewrite ?Nat.pow_succ_r'; nia).
  apply (per_trans P) with (reduce op z ((q + 1) ^ j * k) (partial_reduce op z (q + 1) xs)).
  + apply twice. intros i I. apply (per_trans P) with (xs' i); [exact (X i I) | exact (per_sym P _ _ (X i
  I))].
  + replace (k * (q + 1) ^ j) with ((q + 1) ^ j * k) by nia. apply IH. apply F. exact X.
"""

_BLOCKS_OF_A_SCAN = (
    """
intros A R k m op op' z z' xs xs' P M As Ne F Z X.
opened.
reduced.
"""
    + IN_ORDER
    + """
intros i I.
assert (Q : i / m < k) by (apply Nat.div_lt_upper_bound; lia).
assert (L : i mod m < m) by (apply Nat.mod_upper_bound; lia).
assert (V : S i = i / m * m + S (i mod m)) by (pose proof (divided i m); lia).
assert (below : forall a b, a < i / m -> b < m -> a * m + b < k * m) by (intros a b La Lb; nia).
assert (inside : forall b, b < S (i mod m) -> i / m * m + b < k * m) by (intros b Lb; nia).
rewrite V at 1.
rewrite fold_append.
"""
)

SCAN_BLOCKED = (
    _BLOCKS_OF_A_SCAN
    + """apply (trans _ (fold op (if i / m <? 1 then z else fold op z (S (i / m - 1)) (fun a => fold op z m (fun j =>
  xs (a * m + j)))) (S (i mod m)) (fun j => xs (i / m * m + j)))).
- apply fold_related.
  + destruct (Nat.ltb_spec (i / m) 1) as [Small | Large].
    * assert (E : i / m = 0) by lia. rewrite E. simpl. exact (left _ _ Z).
    * replace (S (i / m - 1)) with (i / m) by lia. apply (@fold_blocks A R op z P Op (left _ _ Z) As Ne (i /
        m * m) (i / m) m xs eq_refl).
      intros j J. apply (left _ (xs' j)). apply X. nia.
  + intros j b c J E. apply Op; [exact E |]. apply (left _ (xs' (i / m * m + j))). apply X. apply inside.
      exact J.
- apply fold_related.
  + destruct (Nat.ltb_spec (i / m) 1) as [Small | Large]; [exact Z |].
    apply fold_related; [exact Z |]. intros a b c La E. apply F; [exact E |].
    apply fold_related; [exact Z |]. intros j d e J G. apply F; [exact G |]. apply X. apply below; lia.
  + intros j b c J E. apply F; [exact E |]. apply X. apply inside. exact J.
"""
)

_CHUNKS = "intros A RA B RB k m f f' z z' xs xs' "

SCAN_SPLIT = (
    f"{_CHUNKS} PA PB M F Z X."
    + """
opened.
reduced.
intros i I.
assert (Q : i / m < k) by (apply Nat.div_lt_upper_bound; lia).
assert (L : i mod m < m) by (apply Nat.mod_upper_bound; lia).
assert (V : S i = i / m * m + S (i mod m)) by (pose proof (divided i m); lia).
rewrite V at 1.
rewrite fold_append.
apply fold_related.
- destruct (Nat.ltb_spec (i / m) 1) as [Small | Large].
  + assert (E : i / m = 0) by lia. rewrite E. simpl. exact Z.
  + replace (S (i / m - 1)) with (i / m) by lia. rewrite fold_chunks.
    apply fold_related; [exact Z |]. intros a b c La E.
    apply fold_related; [exact E |]. intros j d e J G. apply F; [exact G |]. apply X. nia.
- intros j b c J E. apply F; [exact E |]. apply X. nia.
"""
)

_EACH_CHUNK = """
assert (related : forall i j, i < k -> j < m -> RB (fold f z (i * m + j) xs) (fold f' (fold (fun a c =>
  fold f' a m c) z' i (fun a b => xs' (a * m + b))) j (fun b => xs' (i * m + b)))).
{ intros i j I J. rewrite fold_append. apply fold_related.
  - rewrite fold_chunks. apply fold_related; [exact Z |]. intros a b c La E.
    apply fold_related; [exact E |]. intros p d e Jp G. apply F; [exact G |]. apply X. nia.
  - intros p b c Jp E. apply F; [exact E |]. apply X. nia. }
"""
"""Before an element of a chunk both sides have the same accumulator."""

_IN_ITS_CHUNK = """
split; [tauto |].
intros i I.
assert (Q : i / m < k) by (apply Nat.div_lt_upper_bound; lia).
assert (L : i mod m < m) by (apply Nat.mod_upper_bound; lia).
assert (V : i = i / m * m + i mod m) by (pose proof (divided i m); lia).
rewrite V.
apply (Ef _ _ (related _ _ Q L) _ _ (X (i / m * m + i mod m) ltac:(lia))).
exact (Kf (i / m) Q (i mod m) L).
"""
"""A step of the whole is one of its chunk, which is defined."""

SCAN_SPLIT_DEFINED: dict[Direction, str] = {
    "forward": f"{_CHUNKS} Dz Dz' Dx Dx' Df Df' PA PB M F Z X Ez Ex Ef [K Kf]."
    + _EACH_CHUNK
    + """
assert (defined : forall i j, i < k -> j < m -> Df' (fold f' (fold (fun a c => fold f' a m c) z' i (fun a b =>
  xs' (a * m + b))) j (fun b => xs' (i * m + b))) (xs' (i * m + j))).
{ intros i j I J. apply (Ef _ _ (related i j I J) _ _ (X (i * m + j) ltac:(nia))). apply Kf. nia. }
split; [split; [tauto |] |].
- intros i I j J. exact (defined i j I J).
- intros i I j J. opened. reduced. destruct (Nat.ltb_spec i 1) as [Small | Large].
  + assert (E : i = 0) by lia. subst i. exact (defined 0 j I J).
  + replace (S (i - 1)) with i by lia. exact (defined i j I J).
""",
    "backward": f"{_CHUNKS} Dz Dz' Dx Dx' Df Df' PA PB M F Z X Ez Ex Ef [[K Kf] _]."
    + _EACH_CHUNK
    + _IN_ITS_CHUNK,
}

REDUCE_SEQ_CHUNKS_DEFINED: dict[Direction, str] = {
    "forward": f"{_CHUNKS} Dz Dz' Dx Dx' Df Df' PA PB M F Z X Ez Ex Ef [K Kf]."
    + _EACH_CHUNK
    + """
split; [tauto |].
intros i I j J. apply (Ef _ _ (related i j I J) _ _ (X (i * m + j) ltac:(nia))). apply Kf. nia.
""",
    "backward": f"{_CHUNKS} Dz Dz' Dx Dx' Df Df' PA PB M F Z X Ez Ex Ef [K Kf]."
    + _EACH_CHUNK
    + _IN_ITS_CHUNK,
}

VECTORIZE_REDUCE_PADDED = (
    """
intros A R e q r op op' z z' xs xs' P M As Ne Co F Z X.
opened.
reduced.
"""
    + IN_ORDER
    + """
assert (lane : forall n (f : arr (arr A)) l, fold (fun (v w : arr A) (i0 : nat) => op' (v i0) (w i0)) (fun _
  : nat => z') n f l = fold op' z' n (fun j => f j l)) by (induction n as [| n step]; intros f l; simpl;
  [reflexivity | rewrite step; reflexivity]).
set (whole := fun i => if i <? e * q + q * r + e then xs i else z).
assert (good : proper R ((q + 1) * (e + r)) whole).
- intros i I. unfold whole. destruct (Nat.ltb_spec i (e * q + q * r + e)) as [S1 | S1]; [exact (left _ _ (X
    i S1)) | exact (left _ _ Z)].
- apply (trans _ (fold op z ((q + 1) * (e + r)) whole)).
  + apply sym. replace ((q + 1) * (e + r)) with (0 + (e * q + q * r + e) + r) by ring.
    apply (@fold_bordered A R op z P Op (left _ _ Z) Ne); intros i I; [lia | |]; unfold whole.
    * destruct (Nat.ltb_spec (0 + i) (e * q + q * r + e)) as [S1 | S1]; [simpl; exact (left _ _ (X i I)) |
        lia].
    * destruct (Nat.ltb_spec (0 + (e * q + q * r + e) + i) (e * q + q * r + e)) as [S1 | S1]; [lia | exact
        (left _ _ Z)].
  + apply (trans _ (fold op z (e + r) (fun j => fold op z (q + 1) (fun i => whole (i * (e + r) + j))))).
    * exact (@fold_strided A R op z P Op (left _ _ Z) As Ne Co _ (q + 1) (e + r) whole eq_refl good).
    * apply fold_related; [exact Z |]. intros l b c L E. apply F; [exact E |]. rewrite lane.
      rewrite (Nat.mod_small l (e + r)) by exact L.
      apply fold_related; [exact Z |]. intros i d g I G. apply F; [exact G |]. unfold whole.
      replace (i * (e + r) + l - 0) with (i * (e + r) + l) by lia.
      destruct (Nat.ltb_spec (i * (e + r) + l) 0) as [S0 | S0]; [lia |].
      destruct (Nat.ltb_spec (i * (e + r) + l) (e * q + q * r + e)) as [S1 | S1]; [apply X; exact S1 | exact
        Z].
"""
)

_BELOW = """
assert (L : forall i, i < k * m + m -> i / (k + 1) + m * (i mod (k + 1)) < k * m + m) by (intros; apply
  stride_below; [ring | assumption]).
"""
"""An index in strides stays below."""

MAP_REORDERED_WITH_STRIDE = """
intros A R B S k m f f' xs xs' P Q F X i I.
unfold map, scatter, gather.
pose proof (@at_position _ _ i (@stride_reached (k * m + m) (k + 1) m ltac:(ring)) I) as E.
cbv beta in *. rewrite E. apply F. apply X. exact I.
"""

MAP_REORDERED_WITH_STRIDE_DEFINED: dict[Direction, str] = {
    "forward": "intros A R B S k m f f' xs xs' Dx Dx' Df Df' P Q F X Ex Ef [K H]."
    + _BELOW
    + """
split; [split; [split; [tauto |] |] | split].
- intros i I. apply in_range_below, L, I.
- intros i I. apply (Ef _ _ (X _ (L i I))), H, L, I.
- intros i I. apply in_range_below, L, I.
- intros j J. destruct (@stride_reached (k * m + m) (k + 1) m ltac:(ring) j J) as [i [I [E _]]]. exists i.
  split; [exact I | f_equal; exact E].
""",
    "backward": """
intros A R B S k m f f' xs xs' Dx Dx' Df Df' P Q F X Ex Ef [[[K G] H] _].
split; [tauto |].
intros j J. destruct (@stride_reached (k * m + m) (k + 1) m ltac:(ring) j J) as [i [I [E _]]].
specialize (H i I). unfold gather in H. cbv beta in H. rewrite E in H. apply (Ef _ _ (X j J)). exact H.
""",
}

PARTIAL_REDUCE_REORDER = (
    """
intros A R k m op op' z z' xs xs' P N As Co F Z X i I.
unfold partial_reduce, gather.
assert (i = 0) by lia. subst i. simpl.
"""
    + _BELOW
    + IN_ORDER
    + """
apply (trans _ (fold op z (k * m + m) (fun i => xs (i / (k + 1) + m * (i mod (k + 1)))))).
- apply sym. apply (@fold_permutation A R op z P Op (left _ _ Z) As Co (k * m + m) _ xs L
    (@stride_reached (k * m + m) (k + 1) m ltac:(ring))). intros j J. exact (left _ _ (X j J)).
- apply fold_related; [exact Z |]. intros j b c J E. apply F; [exact E |]. apply X. apply L. exact J.
"""
)

_BOTH_SCANNED = """
set (both := fun k => fold (fun a x => (f' (fst a) x, g' (snd a) (f' (fst a) x))) (z', y') k xs').
assert (H : forall k, k <= n -> S (fold f z k xs) (fst (both k)) /\\
  T (fold g y k (fun i => fold f z (Datatypes.S i) xs)) (snd (both k))).
{ induction k as [| k step]; intros N; simpl; [split; assumption |]. destruct (step ltac:(lia)) as [E1 E2].
  assert (E : S (f (fold f z k xs) (xs k)) (f' (fst (both k)) (xs' k))) by (apply F; [exact E1 | apply X; lia]).
  split; [exact E |]. apply G; [exact E2 | exact E]. }
"""
"""After k elements the pair is what the scan, and the fold of it, are."""

_SCANNED = "intros A R B S C T n f f' g g' y y' z z' xs xs' "

REDUCE_SCAN_FUSION = (
    f"{_SCANNED} P Q U F G Y Z X.\n{_BOTH_SCANNED}"
    + "unfold reduce_seq, scan_seq, let_in. apply (H n). lia.\n"
)

REDUCE_SCAN_FUSION_DEFINED: dict[Direction, str] = {
    "forward": f"{_SCANNED} Dy Dy' Dz Dz' Dx Dx' Df Df' Dg Dg' P Q U F G Y Z X Ey Ez Ex Ef Eg [[K Kf] Kg]."
    + _BOTH_SCANNED
    + """
split; [tauto |].
intros i I. destruct (H i ltac:(lia)) as [E1 E2]. unfold let_in, let_defined. split.
- apply (Ef _ _ E1 _ _ (X i I)). exact (Kf i I).
- apply (Eg _ _ E2 _ _ (F _ _ E1 _ _ (X i I))). exact (Kg i I).
""",
    "backward": f"{_SCANNED} Dy Dy' Dz Dz' Dx Dx' Df Df' Dg Dg' P Q U F G Y Z X Ey Ez Ex Ef Eg [K Kp]."
    + _BOTH_SCANNED
    + """
split; [split; [tauto |] |].
- intros i I. destruct (H i ltac:(lia)) as [E1 _]. destruct (Kp i I) as [K1 _]. apply (Ef _ _ E1 _ _ (X i
    I)). exact K1.
- intros i I. destruct (H i ltac:(lia)) as [E1 E2]. destruct (Kp i I) as [_ K2]. apply (Eg _ _ E2 _ _ (F _ _
    E1 _ _ (X i I))). exact K2.
""",
}

_SCANNED_IN_ZIP = "intros A R B S C T D V n f f' g g' y y' z z' xs xs' ys ys' "
_DEFINED_IN_ZIP = f"{_SCANNED_IN_ZIP} Dy Dy' Dz Dz' Dx Dx' Df Df' Dw Dw' Dg Dg' P Q U O F G Y Z X W Ey Ez Ex Ef Ew Eg "

_BOTH_SCANNED_IN_ZIP = """
set (both := fun k => fold (fun a p => (f' (fst a) (fst p), g' (snd a) (f' (fst a) (fst p), snd p)))
  (z', y') k (fun i => (xs' i, ys' i))).
assert (H : forall k, k <= n -> S (fold f z k xs) (fst (both k)) /\\
  V (fold g y k (fun i => (fold f z (Datatypes.S i) xs, ys i))) (snd (both k))).
{ induction k as [| k step]; intros N; simpl; [split; assumption |]. destruct (step ltac:(lia)) as [E1 E2].
  assert (E : S (f (fold f z k xs) (xs k)) (f' (fst (both k)) (xs' k))) by (apply F; [exact E1 | apply X; lia]).
  split; [exact E |]. apply G; [exact E2 |]. split; [exact E | apply W; lia]. }
assert (E : forall i, i < n -> Rpair S T (f (fold f z i xs) (xs i), ys i) (f' (fst (both i)) (xs' i), ys' i)).
{ intros i I. destruct (H i ltac:(lia)) as [E1 _]. split; [apply F; [exact E1 | apply X] | apply W]; exact I. }
"""
"""The same of a fold of what is zipped with the scan, and what it is given at each step."""

REDUCE_SCAN_FUSION_IN_ZIP = f"""{_SCANNED_IN_ZIP} P Q U O F G Y Z X W.
{_BOTH_SCANNED_IN_ZIP}unfold reduce_seq, scan_seq, let_in, zip. apply (H n). lia.
"""

REDUCE_SCAN_FUSION_IN_ZIP_DEFINED: dict[Direction, str] = {
    "forward": f"{_DEFINED_IN_ZIP} [[[K Kf] L] Kg]."
    + _BOTH_SCANNED_IN_ZIP
    + """
split; [tauto |]; intros i I; destruct (H i ltac:(lia)) as [E1 E2]; specialize (Kf i I); specialize (Kg i I).
unfold let_in, let_defined. split; [apply (Ef _ _ E1 _ _ (X i I)) | apply (Eg _ _ E2 _ _ (E i I))]; assumption.
""",
    "backward": f"{_DEFINED_IN_ZIP} [K Kp]."
    + _BOTH_SCANNED_IN_ZIP
    + """
split; [split; [split; [tauto |] | tauto] |]; intros i I; destruct (H i ltac:(lia)) as [E1 E2];
  destruct (Kp i I) as [K1 K2]; [apply (Ef _ _ E1 _ _ (X i I)) | apply (Eg _ _ E2 _ _ (E i I))]; assumption.
""",
}

COUNTED = """
intros A R B S n f f' z z' xs xs' P Q F Z X.
opened.
reduced.
match goal with |- _ (fst ?l) ?r => assert (E : S (fst l) r /\\ snd l = Z.of_nat n) end.
{ clear P Q. induction n as [| n step]; cbn [fold fst snd]; [auto |].
  destruct step as [I K]; [intros i L; apply X; lia |]. rewrite K.
  assert (V : R (xs n) (xs' n)) by (apply X; lia). split; [apply F; auto | lia]. }
destruct E as [I _]. exact I.
"""

COUNTED_PAIR = """
intros A R B S C T n f f' g g' y y' z z' xs xs' P Q W F G Y Z X.
opened.
reduced.
match goal with |- _ (_ (fst ?l)) (_ ?r) =>
  assert (E : S (fst (fst l)) (fst r) /\\ T (snd (fst l)) (snd r) /\\ snd l = Z.of_nat n) end.
{ clear P Q W. induction n as [| n step]; cbn [fold fst snd]; [auto |].
  destruct step as [I [J K]]; [intros i L; apply X; lia |]. rewrite K.
  assert (V : R (xs n) (xs' n)) by (apply X; lia).
  split; [apply F; auto | split; [apply G; auto | lia]]. }
destruct E as [I [J _]]; assumption.
"""

_PLACES = """
opened.
reduced.
match goal with |- _ ?l ?r => assert (E : S (fst l) (fst r) /\\ snd l = snd r /\\ (snd l <= Z.of_nat n)%Z) end.
{ clear P. induction n as [| n step]; cbn [fold fst snd]; [split; [exact Z | split; [reflexivity | lia]] |].
  destruct step as [I [J K]]; [intros i B; apply X; lia |].
  assert (V : S (g (xs n)) (g' (xs' n))) by (apply G, X; lia).
  first [rewrite (L _ _ V _ _ I) | rewrite (L _ _ I _ _ V)].
  match goal with |- context [if ?b then _ else _] => destruct b end; [split; [exact V | split; [reflexivity | lia]] |].
  replace (Z.of_nat n <? _)%Z with false by (symmetry; apply Z.ltb_ge; lia).
  match goal with |- context [if ?b then _ else _] => destruct b end; (split; [exact I | split; [exact J | lia]]). }
destruct E as [I [J _]]. split; assumption.
"""
"""The place that is kept is at most the next one, so that equal values keep theirs."""

BEST_OF_PLACES = f"intros A R T S n lt lt' g g' z z' xs xs' P Q L G Z X.\n{_PLACES}"

BEST_OF_PLACES_WHOLE = f"""
intros A R n g g' z z' xs xs' P G Z X.
set (S := @eq BinNums.Z).
assert (L : forall a b, S a b -> forall c d, S c d -> (a <? c)%Z = (b <? d)%Z) by (unfold S; intros; subst; auto).
{_PLACES}"""
