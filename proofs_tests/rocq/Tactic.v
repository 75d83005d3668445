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

(* ---- what is assumed ---- *)

Ltac per :=  (* only where PER is asked: `apply` would look inside its definition *)
  lazymatch goal with |- PER ?R =>
    first [ assumption
          | lazymatch R with
            | eq => apply PER_eq
            | Rarr _ _ => apply PER_Rarr; per
            | Rpair _ _ => apply PER_Rpair; per
            | Rfun _ _ => apply PER_Rfun; per
            | Rindex _ => apply PER_Rindex
            end ]
  end.

(* Of every related pair also x ~ x, x' ~ x' and x' ~ x; what is related by equality becomes one. *)
Ltac know P := lazymatch goal with _ : P |- _ => fail | _ => assert P end.
Ltac both_ways := repeat match goal with
  | H : @eq ?A ?x ?y |- _ => is_var x; is_var y; subst y
  | H : ?R ?x ?y |- _ =>
      lazymatch type of R with rel _ => idtac | _ => fail end;
      lazymatch x with y => fail | _ => idtac end;
      first [ know (R x x); [ apply (per_left (R := R) ltac:(per) _ _ H) |]
            | know (R y y); [ apply (per_right (R := R) ltac:(per) _ _ H) |]
            | know (R y x); [ apply (per_sym (R := R) ltac:(per) _ _ H) |] ]
  end;
  repeat match goal with
  | P : refines ?R, H : ?R ?x ?y |- _ =>
      first [ know (R x x); [ apply (proj1 (proj1 P x y H)) |] | know (R y y); [ apply (proj2 (proj1 P x y H)) |] ]
  end.
Ltac laws_of_pairs := repeat match goal with
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
  pad_mirror, pad_wrap, around, pad_clamp, pad_constant, map, zip, unzip, reduce, reduce_seq, partial_reduce,
  scan_seq, let_in, generate, literal_array, repeat, at_runtime, split, join, transpose, slide, take, drop,
  at_index, head, tail, concat, gather, scatter, store in *.
Ltac reduced := cbv beta; cbn [fst snd].
Ltac start :=
  lazymatch goal with |- ?G => try (is_const G; unfold G) end;
  intros; both_ways; laws_of_pairs; both_ways; opened; reduced.

Ltac simplified := repeat first
  [ rewrite fold_vectorize | rewrite fold_pointwise | rewrite iterate_pointwise
  | rewrite iterate_add | rewrite iterate_mul | rewrite iterate_id ]; reduced.

(* ---- conditions ---- *)

Ltac decided Q := first
  [ apply andb_prop in Q; destruct Q
  | apply Nat.ltb_lt in Q | apply Nat.ltb_ge in Q | apply Nat.eqb_eq in Q | apply Nat.eqb_neq in Q
  | apply Z.leb_le in Q | apply Z.leb_gt in Q | apply Z.ltb_lt in Q | apply Z.ltb_ge in Q | idtac ].
Ltac by_cases b := let Q := fresh "Q" in destruct b eqn:Q; decided Q; try (exfalso; lia); reduced.

(* ---- both sides, from the outside in ---- *)

Ltac law := first [ assumption | per ].
Ltac same_length n k := first [ constr_eq n k | replace k with n by (first [ lia | nia ]) ].

Ltac relate :=
  simplified;
  lazymatch goal with
  | |- _ < _ => indices
  | |- _ <= _ => indices
  | |- @eq nat _ _ => indices
  | |- Rarr _ _ _ _ => first [ eassumption | named | intros ? ?; reduced; relate ]
  | |- Rpair _ _ _ _ => first [ eassumption | named | split; reduced; relate ]
  | |- Rfun _ _ _ _ => first [ eassumption | intros ? ? ?; both_ways; reduced; relate ]
  | |- Rsize _ _ _ => first [ eassumption | intros ?; reduced; relate ]
  | |- context [if ?b then _ else _] => condition b
  | |- _ => first [ eassumption | reflexivity | folds | spine ]
  end
with indices := first
  [ index
  | progress know_indices; solve [ index | congruence ]
  | apply nearest_below; assumption
  | apply position_below; indices
  | apply position_same; intros; indices
  | f_equal; solve [ relate ] ]
with condition b :=
  match goal with
  | |- context [if ?c then _ else _] =>
      lazymatch c with b => fail | _ => idtac end;
      let E := fresh in assert (E : b = c) by (solve [ spine ]); rewrite E; by_cases c; relate
  | _ => by_cases b; relate
  end
(* f a ~ g b, from f ~ g and a ~ b *)
with spine :=
  lazymatch goal with
  | |- ?R (fst ?p) (fst ?q) => eapply (@fst_related _ _ R _ p q); spine
  | |- ?R (snd ?p) (snd ?q) => eapply (@snd_related _ _ _ R p q); spine
  | |- ?R ?x ?y =>
      first [ eassumption
            | match goal with U : unspecified ?R x |- _ => apply U; relate end
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
with named :=
  first [ eapply filter_seq_related; relate
        | eapply insertion_sort_seq_related; relate
        | eapply linear_search_related; relate
        | eapply reduce_while_related; relate
        | eapply scatter_indices_related; relate
        | eapply iterate_sizes_related; [ intro; relate | relate ]
        | same_fold | same_iteration ]
with same_fold :=
  lazymatch goal with
  | |- ?R (fold ?f ?z ?n ?x) (fold ?g ?w ?k ?y) =>
      same_length n k; apply (@fold_related _ _ _ _ R); [ relate | intros; both_ways; relate ]
  end
with same_iteration :=
  lazymatch goal with
  | |- ?R (iterate ?n ?f ?x) (iterate ?k ?g ?y) =>
      same_length n k; apply (@iterate_related _ _ R); [ relate | intros; both_ways; relate ]
  end
with folds := first [ solve [ same_fold ] | solve [ same_iteration ] | law_of_folds | apply per_sym; [ per | law_of_folds ] ]
(* The left side becomes a fold of the shape of the right side. *)
with law_of_folds :=
  lazymatch goal with
  | |- ?R (fold ?f ?z ?n ?x) (fold ?g ?w ?k ?y) =>
      first
      [ (* blocks *)
        lazymatch y with fun i => fold _ _ ?m _ =>
          eapply per_trans; [ per | apply (@fold_blocks _ R f z ltac:(per) ltac:(law) ltac:(law) ltac:(law) ltac:(law) n k m x); [ lia | intros ? ?; relate ] | solve [ reduced; same_fold ] ]
        end
      | lazymatch y with fun i => fold _ _ ?m _ =>
          eapply per_trans; [ per | apply (@fold_strided _ R f z ltac:(per) ltac:(law) ltac:(law) ltac:(law) ltac:(law) ltac:(law) n m k x); [ lia | intros ? ?; relate ] | solve [ reduced; same_fold ] ]
        end
      | (* Fubini *)
        lazymatch x with fun i => fold _ _ ?m (@?body i) =>
          same_length m k;
          eapply per_trans; [ per | apply (@fold_swap _ R f z ltac:(per) ltac:(law) ltac:(law) ltac:(law) ltac:(law) ltac:(law) n m body); intros ? ? ? ?; reduced; relate | solve [ reduced; same_fold ] ]
        end
      | (* a fold of folds that pass the accumulator on *)
        lazymatch g with fun acc c => fold _ _ ?m _ =>
          replace n with (k * m) by lia; rewrite (@fold_chunks _ _ f k m z x); solve [ reduced; same_fold ]
        end
      | match goal with B : bijective n ?p |- _ =>
          eapply per_trans; [ per | apply per_sym; [ per |]; apply (@fold_permutation _ R f z ltac:(per) ltac:(law) ltac:(law) ltac:(law) ltac:(law) ltac:(law) n p x); [ intros ? ?; indices | exact B | intros ? ?; reduced; relate ] | solve [ reduced; same_fold ] ]
        end ]
  end.

Ltac relift := start; relate.

(* What is left to show, for a person to see. *)
Ltac relift_opened := start; repeat (simplified; first [ progress intros | split ]; reduced).
