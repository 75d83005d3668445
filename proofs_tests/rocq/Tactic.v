(* The tactic `relift`, which proves nine rules in ten and every congruence lemma.

   It opens the definitions, looks at one element of the result at a time, and relates both sides from the
   outside in: equal heads have related arguments, which ends at the metavariables and at goals about
   indices.  Where two folds differ in shape it tries the laws of `Folds`. *)

From Relift Require Export Indices Folds Positions.

Lemma at_related : forall (A : Type) n (R : rel A) x y a b,
  Rarr n R x y -> a = b -> a < n -> R (x a) (y b).
Proof. intros; subst; auto. Qed.
Lemma apply_related : forall (A B : Type) (R : rel A) (S : rel B) f g a b,
  Rfun R S f g -> R a b -> S (f a) (g b).
Proof. intros; auto. Qed.
Lemma fst_related : forall (A B : Type) (R : rel A) (S : rel B) p q, Rpair R S p q -> R (fst p) (fst q).
Proof. intros A B R S p q []; auto. Qed.
Lemma snd_related : forall (A B : Type) (R : rel A) (S : rel B) p q, Rpair R S p q -> S (snd p) (snd q).
Proof. intros A B R S p q []; auto. Qed.

Lemma PER_iff : PER iff.
Proof. split; unfold PER; intros; tauto. Qed.

(* ---- what is assumed ---- *)

Ltac per :=  (* only where PER is asked: `apply` would look inside its definition *)
  lazymatch goal with |- PER ?R =>
    first [ assumption
          | lazymatch R with
            | eq => apply PER_eq
            | iff => apply PER_iff
            | Rarr _ _ => apply PER_Rarr; per
            | Rpair _ _ => apply PER_Rpair; per
            | Rfun _ _ => apply PER_Rfun; per
            | Rindex _ => apply PER_Rindex
            end ]
  end.

Ltac refine_by :=
  lazymatch goal with |- refines ?R =>
    first [ assumption
          | lazymatch R with
            | eq => apply refines_eq
            | Rarr _ _ => apply refines_Rarr; refine_by
            | Rpair _ _ => apply refines_Rpair; refine_by
            end ]
  end.

(* Of every related pair also x ~ x, x' ~ x' and x' ~ x; what is related by equality becomes one. *)
Ltac know P := lazymatch goal with _ : P |- _ => fail | _ => assert P end.
Ltac both_ways := repeat match goal with
  | H : @eq ?A ?x ?y |- _ => is_var x; is_var y; subst y
  | H : ?R ?x ?y |- _ =>
      lazymatch type of R with rel _ => idtac | _ => fail end;
      lazymatch R with Rindex _ => fail | _ => idtac end;
      lazymatch x with y => fail | _ => idtac end;
      first [ know (R x x); [ apply (per_left (R := R) ltac:(per) _ _ H) |]
            | know (R y y); [ apply (per_right (R := R) ltac:(per) _ _ H) |]
            | know (R y x); [ apply (per_sym (R := R) ltac:(per) _ _ H) |] ]
  end;
  repeat match goal with
  | _ : refines _, H : ?R ?x ?y |- _ =>
      lazymatch type of R with rel _ => idtac | _ => fail end;
      lazymatch R with Rindex _ => fail | Rfun _ _ => fail | _ => idtac end;
      lazymatch x with y => fail | _ => idtac end;
      first [ know (R x x); [ apply (proj1 (proj1 (ltac:(refine_by) : refines R) x y H)) |]
            | know (R y y); [ apply (proj2 (proj1 (ltac:(refine_by) : refines R) x y H)) |] ]
  end.
Ltac laws_of_pairs := repeat match goal with
  | L : bijective ?n ?p, H : Rindex ?n ?p ?q |- _ =>
      know (bijective n q); [ apply (@bijective_related n p q H L) |]
  | L : associative ?R ?op, H : Rfun ?R (Rfun ?R ?R) ?op ?op' |- _ =>
      know (associative R op'); [ apply (@associative_related _ R op op'); [ per | assumption | assumption ] |]
  | L : commutative ?R ?op, H : Rfun ?R (Rfun ?R ?R) ?op ?op' |- _ =>
      know (commutative R op'); [ apply (@commutative_related _ R op op'); [ per | assumption | assumption ] |]
  | L : idempotent ?R ?op, H : Rfun ?R (Rfun ?R ?R) ?op ?op' |- _ =>
      know (idempotent R op'); [ apply (@idempotent_related _ R op op'); [ per | assumption | assumption ] |]
  | L : neutral ?R ?op ?z, H : Rfun ?R (Rfun ?R ?R) ?op ?op', Z : ?R ?z ?z' |- _ =>
      know (neutral R op' z');
      [ apply (@neutral_related _ R op op' z z'); [ per | assumption | assumption | assumption ] |]
  | L : distributive ?R ?op ?plus, H : Rfun ?R (Rfun ?R ?R) ?op ?op',
      P : Rfun ?R (Rfun ?R ?R) ?plus ?plus' |- _ =>
      know (distributive R op' plus');
      [ apply (@distributive_related _ R op op' ltac:(per) H plus plus' P L) |]
  end.

(* Index functions stay below their bound, and each of a pair is the other. *)
Ltac know_indices := repeat match goal with
  | H : Rindex ?n ?p ?q |- context [?p ?a] =>
      lazymatch goal with _ : p a < n |- _ => fail | _ => idtac end;
      let I := fresh in assert (I : a < n) by index; destruct (H a I)
  end.
Lemma nearest_below : forall i n, 0 < n -> nearest i n < n.
Proof. unfold nearest. intros. lia. Qed.
Ltac opened := unfold
  as_vector, as_scalar, circular_buffer, map_slide, binary_search, at_runtime_unsafe, gather_indices,
  pad_mirror, pad_wrap, pad_clamp, pad_constant, map, zip, unzip, reduce, reduce_seq, partial_reduce,
  scan_seq, let_in, generate, literal_array, repeat, at_runtime, split, join, transpose, slide, take, drop,
  at_index, head, tail, concat, gather, scatter, store,
  vectorize in *.
Ltac reduced := cbv beta; cbn [fst snd].
Ltac start :=
  lazymatch goal with |- ?G => try (is_const G; unfold G) end;
  intros; both_ways; laws_of_pairs; both_ways; opened; reduced.

Ltac index_below := first
  [ below
  | match goal with H : Rindex ?n ?p _ |- ?p _ < ?n => refine (proj2 (H _ _)); index_below end
  | match goal with H : Rindex ?n _ ?q |- ?q _ < ?n =>
      refine (eq_ind _ (fun v => v < n) (proj2 (H _ _)) _ (proj1 (H _ _))); index_below end
  | apply position_below; below
  | apply digits_lt; index_below
  | apply digits_lt'; index_below
  | apply Nat.mod_upper_bound; lia ].
(* Equations that always help: both of a pair of index functions become the first, inverses meet. *)
Ltac met := match goal with
  | H : Rindex ?n ?p ?q |- context [?q ?a] =>
      lazymatch q with p => fail | _ => rewrite <- (proj1 (H a ltac:(index_below))) end
  | H : Rindex ?n ?p ?q |- context [position ?q ?n ?a] =>
      lazymatch q with p => fail | _ => rewrite <- (@position_same p q n a ltac:(intros; apply H; assumption)) end
  | H : inverse ?n ?p ?q |- context [?p (?q ?a)] => rewrite (proj1 (H a ltac:(index_below)))
  | H : inverse ?n ?p ?q |- context [?q (?p ?a)] => rewrite (proj2 (H a ltac:(index_below)))
  | H : bijective ?n ?p |- context [?p (position ?p ?n ?a)] => rewrite (@at_position p n a H ltac:(index_below))
  | H : bijective ?n ?p, I : Rindex ?n ?p _ |- context [position ?p ?n (?p ?a)] =>
      rewrite (@position_at p n a H (proj2 (I a ltac:(index_below))) ltac:(index_below))
  | H : inverse ?n ?p ?q |- context [position ?p ?n ?a] =>
      rewrite (@position_inverse p q n a H ltac:(intros; index_below) ltac:(index_below))
  | H : inverse ?n ?p ?q |- context [position ?q ?n ?a] =>
      rewrite (@position_inverse q p n a (inverse_sym H) ltac:(intros; index_below) ltac:(index_below))
  | H : bijective ?n ?p, G : bijective ?n ?q |- context [position (fun v => ?q (?p v)) ?n ?a] =>
      rewrite (@position_compose p q n a H G ltac:(intros; index_below) ltac:(intros; index_below) ltac:(index_below))
  | |- context [(?k * ?m - 1 - ?i) / ?m] => rewrite (@rev_div k m i) by index_below
  | |- context [(?k * ?m - 1 - ?i) mod ?m] => rewrite (@rev_mod k m i) by index_below
  | |- context [(?m * ?k - 1 - ?i) / ?m] => rewrite (@rev_div' k m i) by index_below
  | |- context [(?m * ?k - 1 - ?i) mod ?m] => rewrite (@rev_mod' k m i) by index_below
  | |- context [position (fun v => ?n - 1 - v) ?n ?a] =>
      rewrite (@position_reverse n a) by index_below
  | |- context [position (fun v => @?g v mod ?n) ?n ?a] =>
      let t := eval cbn [Nat.add] in (g 0) in
      rewrite (@position_rotation g t n a ltac:(intros; cbv beta; lia) ltac:(index_below))
  | |- context [?n - 1 - (?n - 1 - ?i)] => rewrite (@rev_twice n i) by index_below
  | |- context [iterate ?k (fun v => (v + ?t) mod ?n) ?i] => rewrite (@iterate_rotation n t k i) by index_below
  | |- context [if around ?l (2 * ?n) (?t - 1 - ?i) <? ?n then _ else _] =>
      match goal with |- context [around ?r (2 * n) i] =>
        rewrite (@mirror_reversed l r n t i) by lia
      end
  | |- context [around ?l ?n (?t - 1 - ?i)] =>
      match goal with |- context [around ?r n i] => rewrite (@around_reversed l r n t i) by lia end
  | |- context [around 0 ?n ?i] => rewrite (around_nothing n i)
  | |- context [around ?l ?n ?i] =>
      match goal with |- context [around l n ?j] =>
        lazymatch j with i => fail | _ => replace j with i by lia end
      end
  | |- context [around ?l ?n ?i] => first
      [ rewrite (@around_inside l n i) by lia | rewrite (@around_before l n i) by lia
      | rewrite (@around_after l n i) by lia ]
  end.
Ltac simplified := repeat first
  [ rewrite fold_ignoring | rewrite iterate_last | rewrite iterate_inside
  | rewrite iterate_gather | rewrite iterate_add | rewrite iterate_mul | rewrite iterate_id
  | progress cbn [iterate_sizes Nat.pow] | met ]; reduced.

(* ---- conditions ---- *)

Ltac decided Q := first
  [ apply andb_prop in Q; destruct Q
  | apply Nat.ltb_lt in Q | apply Nat.ltb_ge in Q | apply Nat.eqb_eq in Q | apply Nat.eqb_neq in Q
  | apply Z.leb_le in Q | apply Z.leb_gt in Q | apply Z.ltb_lt in Q | apply Z.ltb_ge in Q | idtac ].
Ltac by_cases b := let Q := fresh "Q" in destruct b eqn:Q; decided Q; try (exfalso; lia); reduced.

(* ---- both sides, from the outside in ---- *)

Ltac law := first [ assumption | per ].
Ltac same_length n k := first [ constr_eq n k | replace k with n by (first [ lia | nia ]) ].

(* The fold or iteration of which a term is a component or an element. *)
Ltac inner t := lazymatch t with
  | fold _ _ _ _ => t
  | iterate _ _ _ => t
  | fst ?p => inner p
  | snd ?p => inner p
  | ?f ?a => inner f
  end.
(* R x y as a relation of the l in x and the r in y. *)
Ltac seen R x y l r :=
  let f := eval pattern l in x in let g := eval pattern r in y in
  lazymatch f with ?f' _ => lazymatch g with ?g' _ => constr:(fun a b => R (f' a) (g' b)) end end.
Ltac reduced_all := cbv beta in *; cbn [fst snd] in *.

(* The length of the folds that a fold combines. *)
Ltac inner_length g ys := lazymatch ys with
  | fun i => fold _ _ ?m _ => m
  | fun i => fold _ _ ?m _ _ => m
  | _ => lazymatch g with fun acc c => _ acc (fold _ _ ?m _) => m end
  end.

(* The sum of which a rotation by n of the elements of an array takes the remainder. *)
Ltac rotation_in ys n := lazymatch ys with
  | fun i => _ (@?g i mod n) => g
  | fun i => _ (_ (@?g i mod n)) => g
  | fun i => _ (_ (_ (@?g i mod n))) => g
  end.

(* An index that goes round at most once has done so, or has not. *)
Ltac turned := match goal with
  | |- context [?a mod ?n] =>
      let L := fresh in assert (L : a < n + n) by lia;
      let Q := fresh in destruct (Nat.lt_ge_cases a n) as [Q | Q];
      [ rewrite (@Nat.mod_small a n Q) | rewrite (@mod_once a n Q L) ]; clear L; reduced
  end.

Ltac undecided x y := lazymatch goal with
  | _ : x < y |- _ => fail
  | _ : y <= x |- _ => fail
  | _ => idtac
  end.

Ltac relate :=
  simplified;
  lazymatch goal with
  | |- context [around ?l ?n ?i] => first [ solve [ by_shape ] | at_border l n i ]
  | |- _ => by_shape
  end
(* Before, inside or after an array that goes round. *)
with at_border l n i := first
  [ undecided i l; by_cases (i <? l); relate
  | undecided i (l + n); by_cases (i <? l + n); relate ]
with by_shape :=
  lazymatch goal with
  | |- _ < _ => indices
  | |- _ <= _ => indices
  | |- @eq nat _ _ => indices
  | |- Rarr _ _ _ _ => first [ eassumption | named | intros ? ?; reduced; relate ]
  | |- Rpair _ _ _ _ => first [ eassumption | named | split; reduced; relate ]
  | |- Rfun _ _ _ _ => first [ eassumption | intros ? ? ?; both_ways; reduced; relate ]
  | |- Rsize _ _ _ => first [ eassumption | intros ?; reduced; relate ]
  | |- _ _ ((if ?b then _ else _) _) => by_cases b; consider  (* which array, before which element *)
  | |- context [if ?b then _ else _] => first [ condition b | turned; relate ]
  | |- _ => first [ eassumption | reflexivity | solve [ same_fold ] | solve [ same_iteration ] | spine | laws ]
  end
with indices := first
  [ index
  | progress know_indices; solve [ index | congruence ]
  | apply nearest_below; assumption
  | apply position_below; indices
  | apply around_below; indices
  | unfold around; index
  | index_below
  | eapply iterate_involution; [ eassumption | intros; split; index ]
  | symmetry; eapply iterate_involution; [ eassumption | intros; split; index ]
  | apply position_same; intros; indices
  | lazymatch goal with
    | |- Z.to_nat _ = Z.to_nat _ => f_equal; solve [ relate ]
    | |- nearest _ _ = nearest _ _ => f_equal; solve [ relate ]
    end ]
with condition b :=
  match goal with
  | |- context [if ?c then _ else _] =>
      lazymatch c with b => fail | _ => idtac end;
      let E := fresh in assert (E : b = c) by (solve [ spine ]); rewrite E; by_cases c; consider
  | _ => by_cases b; consider
  end
(* This case, or that it cannot be. *)
with consider := first [ relate | exfalso; name_divisions; timeout 2 nia ]
(* f a ~ g b, from f ~ g and a ~ b *)
with spine :=
  lazymatch goal with
  | |- ?R (fst ?p) (fst ?q) => eapply (@fst_related _ _ R _ p q); spine
  | |- ?R (snd ?p) (snd ?q) => eapply (@snd_related _ _ _ R p q); spine
  | |- ?R ?x ?y =>
      first [ eassumption
            | match goal with U : unspecified ?R x |- _ => apply U; relate end
            | lazymatch goal with
              | |- _ (?f (?d / ?m) (?d mod ?m)) (?g ?q ?r) => digits d m q r
              | |- _ (?f ?q ?r) (?g (?d / ?m) (?d mod ?m)) => digits d m q r
              end
            | match goal with H : Rsize _ ?f ?g |- _ (?f ?n) (?g ?n) => refine (H n) end
            | named
            | lazymatch goal with
              | |- ?R (?f ?a) (?g ?b) =>
                  lazymatch type of a with
                  | nat => eapply (@at_related _ _ R f g a b); [ spine | relate | relate ]
                  | _ => eapply (@apply_related _ _ _ R f g a b); [ spine | relate ]
                  end
              end ]
  end
with digits d m q r :=
  lazymatch q with d / m => fail | _ => idtac end;
  let E := fresh in let L := fresh in
  assert (E : d = q * m + r) by (solve [ indices ]); assert (L : r < m) by (solve [ indices ]);
  rewrite (div_digits d q m r E L), (mod_digits d q m r E L); clear E L; relate
with named :=
  first [ eapply filter_seq_related; relate
        | eapply insertion_sort_seq_related; relate
        | eapply linear_search_related; relate
        | eapply reduce_while_related; relate
        | eapply scatter_indices_related; relate
        | eapply iterate_sizes_related; [ intro; relate | relate ]
        | same_fold | same_iteration ]
(* Both sides are made of a fold, seen through the same or other projections: compare the folds. *)
with same_fold :=
  lazymatch goal with
  | |- ?R ?x ?y =>
      let l := inner x in let r := inner y in
      lazymatch l with fold ?f ?z ?n ?xs =>
      lazymatch r with fold ?g ?w ?k ?ys =>
        let P := seen R x y l r in
        let E := fresh in assert (E : k = n) by (first [ reflexivity | lia | nia ]);
        try rewrite E; clear E;
        apply (@fold_related _ _ _ _ P f g n xs ys z w);
        [ reduced; relate | intros; reduced_all; both_ways; relate ]
      end end
  end
with same_iteration :=
  lazymatch goal with
  | |- ?R ?x ?y =>
      let l := inner x in let r := inner y in
      lazymatch l with iterate ?n ?f ?a =>
      lazymatch r with iterate ?k ?g ?b =>
        let P := seen R x y l r in
        let E := fresh in assert (E : k = n) by (first [ reflexivity | lia | nia ]);
        try rewrite E; clear E;
        apply (@iterate_related _ _ P f g n a b);
        [ reduced; relate | intros; reduced_all; both_ways; relate ]
      end end
  end
with laws := first
  [ law_of_folds | apply per_sym; [ per | law_of_folds ]
  | progress (rewrite ?Nat.add_1_r; cbn [fold iterate]); reduced; relate ]
(* The left side becomes a fold of the shape of the right side. *)
with law_of_folds :=
  lazymatch goal with
  | |- ?R (fold ?f ?z ?n ?x) ?y =>
      first
      [ (* blocks *)
        lazymatch y with fold ?g ?w ?k ?ys =>
          let m := inner_length g ys in
          by_law ltac:(apply (@fold_blocks _ R f z ltac:(per) ltac:(law) ltac:(law) ltac:(law) ltac:(law) n k m x); [ first [ lia | nia ] | intros ? ?; reduced; relate ])
        end
      | lazymatch y with fold ?g ?w ?k ?ys =>
          let m := inner_length g ys in
          by_law ltac:(apply (@fold_strided _ R f z ltac:(per) ltac:(law) ltac:(law) ltac:(law) ltac:(law) ltac:(law) n m k x); [ first [ lia | nia ] | intros ? ?; reduced; relate ])
        end
      | (* Fubini *)
        lazymatch x with fun i => fold _ _ ?m (@?body i) =>
          by_law ltac:(apply (@fold_swap _ R f z ltac:(per) ltac:(law) ltac:(law) ltac:(law) ltac:(law) ltac:(law) n m body); intros ? ? ? ?; reduced; relate)
        end
      | (* from the other end *)
        lazymatch f with fun acc c => ?op (@?h c) acc =>
          by_law ltac:(apply (@fold_flipped _ R op z ltac:(per) ltac:(law) ltac:(law) ltac:(law) ltac:(law) _ h n x); intros ? ?; reduced; relate)
        end
      | (* a fold of folds that pass the accumulator on *)
        lazymatch y with fold ?g ?w ?k _ =>
        lazymatch g with fun acc c => fold _ acc ?m _ =>
          replace n with (k * m) by (first [ lia | nia ]); rewrite (@fold_chunks _ _ f k m z x); solve [ reduced; same_fold ]
        end end
      | (* one part after the other *)
        lazymatch y with fold ?g (fold _ _ ?a _) ?b _ =>
          replace n with (a + b) by lia; rewrite (@fold_append _ _ f a b z x); solve [ reduced; same_fold ]
        end
      | lazymatch y with _ (fold _ _ ?a _) (fold _ _ ?b _) =>
          replace n with (a + b) by lia;
          by_law ltac:(apply (@fold_concat _ R f z ltac:(per) ltac:(law) ltac:(law) ltac:(law) ltac:(law) a b x); intros ? ?; reduced; relate)
        end
      | lazymatch x with fun i => f (@?a i) (@?b i) =>
          by_law ltac:(apply (@fold_pairs _ R f z ltac:(per) ltac:(law) ltac:(law) ltac:(law) ltac:(law) ltac:(law) n a b); intros ? ?; reduced; relate)
        end
      | (* other orders *)
        match goal with B : bijective n ?p |- _ =>
          by_law ltac:(apply per_sym; [ per |]; apply (@fold_permutation _ R f z ltac:(per) ltac:(law) ltac:(law) ltac:(law) ltac:(law) n p x); [ intros ? ?; indices | exact B | intros ? ?; reduced; relate ])
        end
      | lazymatch y with fold _ _ _ ?ys =>
          let g := rotation_in ys n in let t := eval cbn [Nat.add] in (g 0) in
          by_law ltac:(apply per_sym; [ per |]; apply (@fold_permutation _ R f z ltac:(per) ltac:(law) ltac:(law) ltac:(law) ltac:(law) n (fun v => g v mod n) x); [ intros ? ?; apply Nat.mod_upper_bound; lia | apply (@rotation_bijective g t n); intros; lia | intros ? ?; reduced; relate ])
        end
      | by_law ltac:(apply per_sym; [ per |]; apply (@fold_reversed _ R f z ltac:(per) ltac:(law) ltac:(law) ltac:(law) ltac:(law) n x); intros ? ?; reduced; relate)
      | (* what is neutral changes nothing, nor does what is repeated *)
        lazymatch y with fold _ _ ?k _ =>
        lazymatch n with context [k] =>
          lazymatch x with fun i => if i <? ?l then _ else _ =>
            replace n with (l + k + (n - l - k)) by lia;
            solve [ by_law ltac:(apply (@fold_bordered _ R f z ltac:(per) ltac:(law) ltac:(law) ltac:(law) l k (n - l - k) x (fun i => x (l + i))); intros; reduced; relate) ]
          end
        end end
      | by_law ltac:(apply (@fold_all_neutral _ R f z ltac:(per) ltac:(law) ltac:(law) ltac:(law) n x); intros; reduced; relate)
      | by_law ltac:(apply (@fold_all_same _ R f z ltac:(per) ltac:(law) ltac:(law) ltac:(law) n x); intros; reduced; relate)
      | lazymatch y with ?t ?c (fold _ ?w _ ?ys) =>
        lazymatch z with ?times ?c0 ?z0 =>
        lazymatch x with fun i => times c0 (@?body i) =>
          by_law ltac:(apply (proj1 (@fold_distributive _ R f times c0 ltac:(per) ltac:(law) ltac:(law) ltac:(law) ltac:(law) n z0 body ltac:(law) ltac:(intros ? ?; reduced; relate))))
        end end end
      ]
  | |- ?R (?op ?a (fold ?op ?z ?n ?x)) ?y =>
      by_law ltac:(apply per_sym; [ per |]; apply (@fold_from _ R op z ltac:(per) ltac:(law) ltac:(law) ltac:(law) ltac:(law) n x a); [ relate | intros ? ?; reduced; relate ])
  end
(* R x y by a law for R x _, after which both sides have one shape. *)
with by_law apply_it :=
  eapply per_trans; [ per | apply_it | reduced; solve [ same_fold | relate_same ] ]
with relate_same := first [ eassumption | spine ].

Ltac relift := start; relate.

(* What is left to show, for a person to see. *)
Ltac relift_opened :=
  lazymatch goal with |- ?G => try (is_const G; unfold G) end; intros; opened; reduced;
  repeat (first [ progress intros | split ]; reduced).
