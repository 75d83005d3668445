(* Goals about indices: two index expressions are equal, an index is below a size. *)

From Coq Require Export Lia.
From Relift Require Export Arrays.

Lemma div_unique : forall i m j, j < m -> (i * m + j) / m = i.
Proof. intros. symmetry. apply Nat.div_unique with j; lia. Qed.
Lemma mod_unique : forall i m j, j < m -> (i * m + j) mod m = j.
Proof. intros. symmetry. apply Nat.mod_unique with i; lia. Qed.
Lemma div_unique' : forall i m j, j < m -> (m * i + j) / m = i.
Proof. intros. rewrite Nat.mul_comm. apply div_unique; auto. Qed.
Lemma mod_unique' : forall i m j, j < m -> (m * i + j) mod m = j.
Proof. intros. rewrite Nat.mul_comm. apply mod_unique; auto. Qed.
Lemma div_unique_left : forall i m j, j < m -> (j + m * i) / m = i.
Proof. intros. rewrite Nat.add_comm. apply div_unique'; auto. Qed.
Lemma mod_unique_left : forall i m j, j < m -> (j + m * i) mod m = j.
Proof. intros. rewrite Nat.add_comm. apply mod_unique'; auto. Qed.
Lemma mod_once : forall a m, m <= a -> a < m + m -> a mod m = a - m.
Proof. intros. symmetry. apply Nat.mod_unique with 1; lia. Qed.
Lemma divided : forall i m, i / m * m + i mod m = i.
Proof. intros. rewrite Nat.mul_comm. symmetry. apply Nat.div_mod_eq. Qed.
Lemma digits_lt : forall i j n m, i < n -> j < m -> i * m + j < n * m.
Proof. intros. nia. Qed.
Lemma digits_lt' : forall i j n m, i < n -> j < m -> i * m + j < m * n.
Proof. intros. nia. Qed.
Lemma div_lt : forall i n m, i < n * m -> i / m < n.
Proof. intros. apply Nat.div_lt_upper_bound; nia. Qed.

Lemma div_between : forall d m q, m * q <= d -> d < m * q + m -> d / m = q.
Proof. intros. symmetry. apply Nat.div_unique with (d - m * q); lia. Qed.
(* An index of rows and columns is found out once for both: d = q * m + r. *)
Lemma div_digits : forall d q m r, d = q * m + r -> r < m -> d / m = q.
Proof. intros. subst. apply div_unique; auto. Qed.
Lemma mod_digits : forall d q m r, d = q * m + r -> r < m -> d mod m = r.
Proof. intros. subst. apply mod_unique; auto. Qed.

(* The middle and the last digit of an index that counts in two bases. *)
Lemma middle_digit : forall a m n, n <> 0 -> m <> 0 -> a mod (m * n) / n = (a / n) mod m.
Proof.
  intros. rewrite (Nat.mul_comm m n), Nat.mod_mul_r by auto.
  rewrite Nat.add_comm, div_unique'; auto. apply Nat.mod_upper_bound; auto.
Qed.
Lemma last_digit : forall a m n, n <> 0 -> m <> 0 -> a mod (m * n) mod n = a mod n.
Proof.
  intros. rewrite (Nat.mul_comm m n), Nat.mod_mul_r by auto.
  rewrite Nat.add_comm, mod_unique'; auto. apply Nat.mod_upper_bound; auto.
Qed.
Lemma middle_digit' : forall a m n, n <> 0 -> m <> 0 -> a mod (n * m) / n = (a / n) mod m.
Proof. intros. rewrite (Nat.mul_comm n m). apply middle_digit; auto. Qed.
Lemma last_digit' : forall a m n, n <> 0 -> m <> 0 -> a mod (n * m) mod n = a mod n.
Proof. intros. rewrite (Nat.mul_comm n m). apply last_digit; auto. Qed.
Lemma first_digit : forall a m n, n <> 0 -> m <> 0 -> a / (m * n) = a / n / m.
Proof. intros. rewrite Nat.div_div by auto. rewrite Nat.mul_comm. reflexivity. Qed.

(* Whole rows more. *)
Lemma more_rows : forall a p m, m <> 0 -> (a + p * m) / m = a / m + p.
Proof. intros. apply Nat.div_add. auto. Qed.
Lemma more_rows' : forall a p m, m <> 0 -> (a + m * p) / m = a / m + p.
Proof. intros. rewrite (Nat.mul_comm m p). apply Nat.div_add. auto. Qed.

(* Turned by p and back again, in either order; and what is left of a sum to whole periods. *)
Lemma turned_back : forall n p a, 0 < n -> (a + p + (n - p mod n)) mod n = a mod n.
Proof.
  intros n p a L. assert (p mod n < n) by (apply Nat.mod_upper_bound; lia).
  replace (a + p + (n - p mod n)) with (a + (p / n + 1) * n) by (pose proof (Nat.div_mod_eq p n); lia).
  apply Nat.mod_add. lia.
Qed.
Lemma turned_forth : forall n p a, 0 < n -> ((a + (n - p mod n)) mod n + p) mod n = a mod n.
Proof.
  intros n p a L. rewrite Nat.add_mod_idemp_l by lia.
  replace (a + (n - p mod n) + p) with (a + p + (n - p mod n)) by lia. apply turned_back; auto.
Qed.
Lemma complement : forall n a b k, 0 < n -> a + b + 1 = k * n -> a mod n = n - 1 - b mod n.
Proof.
  intros n a b k L E. assert (b mod n < n) by (apply Nat.mod_upper_bound; lia).
  pose proof (Nat.div_mod_eq b n). remember (b / n) as q. remember (b mod n) as c.
  assert (q < k).
  { destruct (Nat.lt_ge_cases q k) as [| G]; auto. exfalso.
    assert (k * n <= q * n) by (apply Nat.mul_le_mono_r; auto). lia. }
  remember (k - 1 - q) as d. replace k with (q + 1 + d) in E by lia.
  symmetry. apply Nat.mod_unique with d; lia.
Qed.

(* In strides: column by column of rows of c elements; each index is reached once. *)
Lemma stride_below : forall n c m i, n = c * m -> i < n -> i / c + m * (i mod c) < n.
Proof.
  intros n c m i E L. subst. assert (c <> 0) by (destruct c; lia).
  assert (i / c < m) by (apply div_lt; lia). assert (i mod c < c) by (apply Nat.mod_upper_bound; auto).
  replace (i / c + m * (i mod c)) with ((i mod c) * m + i / c) by lia. apply digits_lt; auto.
Qed.
Lemma stride_reached : forall n c m, n = c * m -> forall j, j < n ->
  exists i, i < n /\ i / c + m * (i mod c) = j /\ forall k, k < n -> k / c + m * (k mod c) = j -> k = i.
Proof.
  intros n c m E j L. subst. assert (m <> 0) by (destruct m; lia). assert (c <> 0) by (destruct c; lia).
  assert (j / m < c) by (apply div_lt; auto). assert (j mod m < m) by (apply Nat.mod_upper_bound; auto).
  exists (j mod m * c + j / m). split; [apply digits_lt'; auto |]. split.
  - rewrite div_unique, mod_unique by auto. rewrite Nat.add_comm, Nat.mul_comm. apply divided.
  - intros i I D. subst j. assert (i / c < m) by (apply div_lt; lia).
    rewrite div_unique_left, mod_unique_left, Nat.mul_comm by auto. symmetry. rewrite Nat.mul_comm. apply divided.
Qed.

(* Reversed, an index of rows and columns is one of the reversed rows and columns. *)
Lemma rev_digits : forall k m i j, i < k -> j < m -> k * m - 1 - (i * m + j) = (k - 1 - i) * m + (m - 1 - j).
Proof. intros. replace k with (i + 1 + (k - 1 - i)) at 1 by lia. nia. Qed.
Lemma rev_digits' : forall k m i j, i < k -> j < m -> m * k - 1 - (i * m + j) = (k - 1 - i) * m + (m - 1 - j).
Proof. intros. rewrite Nat.mul_comm. apply rev_digits; auto. Qed.
Lemma rev_div : forall k m i, i < k * m -> (k * m - 1 - i) / m = k - 1 - i / m.
Proof.
  intros. assert (m <> 0) by (destruct m; lia). pose proof (div_lt _ _ _ H).
  assert (i mod m < m) by (apply Nat.mod_upper_bound; auto).
  rewrite <- (divided i m) at 1. rewrite rev_digits by auto. apply div_unique. lia.
Qed.
Lemma rev_mod : forall k m i, i < k * m -> (k * m - 1 - i) mod m = m - 1 - i mod m.
Proof.
  intros. assert (m <> 0) by (destruct m; lia). pose proof (div_lt _ _ _ H).
  assert (i mod m < m) by (apply Nat.mod_upper_bound; auto).
  rewrite <- (divided i m) at 1. rewrite rev_digits by auto. apply mod_unique. lia.
Qed.
Lemma rev_div' : forall k m i, i < m * k -> (m * k - 1 - i) / m = k - 1 - i / m.
Proof. intros. rewrite Nat.mul_comm. apply rev_div. lia. Qed.
Lemma rev_mod' : forall k m i, i < m * k -> (m * k - 1 - i) mod m = m - 1 - i mod m.
Proof. intros. rewrite Nat.mul_comm. apply rev_mod. lia. Qed.
Lemma rev_twice : forall n i, i < n -> n - 1 - (n - 1 - i) = i.
Proof. intros. lia. Qed.

(* The bound of every i * m + j that occurs, from i < k and j < m. *)
Ltac bound_digits :=
  repeat match goal with
  | H1 : ?a < ?k, H2 : ?b < ?m |- context [?a * ?m + ?b] =>
      lazymatch goal with
      | _ : a * m + b < k * m |- _ => fail
      | _ => assert (a * m + b < k * m) by (apply digits_lt; assumption)
      end
  end.

(* Name the innermost quotients and remainders: a = q * m + r with r < m. *)
Ltac name_division a m :=
  lazymatch a with
  | context [_ / _] => fail
  | context [_ mod _] => fail
  | _ =>
      let q := fresh "q" in let r := fresh "r" in
      let E := fresh "E" in let L := fresh "L" in
      let Q := fresh "Q" in let M := fresh "M" in
      assert (E := divided a m);
      assert (L : m <> 0 -> a mod m < m) by (apply Nat.mod_upper_bound);
      remember (a / m) as q eqn:Q; remember (a mod m) as r eqn:M; clear Q M
  end.
Ltac name_divisions :=
  repeat match goal with
  | |- context [?a / ?m] => name_division a m
  | H : context [?a / ?m] |- _ => name_division a m
  | |- context [?a mod ?m] => name_division a m
  | H : context [?a mod ?m] |- _ => name_division a m
  end;
  repeat match goal with
  | L : ?m <> 0 -> _ |- _ =>
      first [ specialize (L ltac:(lia)) | specialize (L ltac:(nia)) | clear L ]
  end.

(* What is left of a product b when it is divided by its factor n. *)
Ltac ratio b n := match b with
  | n => constr:(1)
  | ?x * ?y => let q := ratio x n in constr:(q * y)
  | ?x * ?y => let q := ratio y n in constr:(x * q)
  end.
(* Modulo n, whole periods do not count, and what is added may be taken modulo n first. *)
Ltac around_whole := match goal with
  | |- context [?d mod ?n] =>
      match d with context [?x * (?a + ?b)] => rewrite (Nat.mul_add_distr_l x a b) end
  | |- context [?d mod ?n] =>
      match d with context [(?a + ?b) * ?x] => rewrite (Nat.mul_add_distr_r a b x) end
  | |- context [(?a + ?b) mod ?n] =>
      let q := ratio b n in replace (a + b) with (a + q * n) by ring; rewrite (Nat.mod_add a q n) by nia
  | |- context [(?b + ?a) mod ?n] =>
      let q := ratio b n in replace (b + a) with (a + q * n) by ring; rewrite (Nat.mod_add a q n) by nia
  | |- context [(?a + ?b + ?c) mod ?n] =>
      let q := ratio b n in replace (a + b + c) with (a + c + q * n) by ring;
      rewrite (Nat.mod_add (a + c) q n) by nia
  | |- context [(?a + (?b + ?c)) mod ?n] => rewrite (Nat.add_assoc a b c)
  | |- context [(?a mod ?n + ?b) mod ?n] => rewrite (Nat.add_mod_idemp_l a b n) by nia
  | |- context [(?a + ?b mod ?n) mod ?n] => rewrite (Nat.add_mod_idemp_r a b n) by nia
  end.
Ltac same_remainder := lazymatch goal with
  | |- ?a mod ?n = ?b mod ?n => replace a with b by (first [ lia | ring ]); reflexivity
  end.

Ltac below := solve
  [ assumption | lia | apply Nat.mod_upper_bound; nia | apply Nat.div_lt_upper_bound; nia | nia
  | bound_digits; nia ].
Ltac divide :=
  first [ rewrite div_unique by below | rewrite mod_unique by below
        | rewrite div_unique' by below | rewrite mod_unique' by below
        | rewrite div_unique_left by below | rewrite mod_unique_left by below
        | rewrite middle_digit by nia | rewrite last_digit by nia | rewrite first_digit by nia
        | rewrite middle_digit' by nia | rewrite last_digit' by nia
        | rewrite more_rows by nia | rewrite more_rows' by nia
        | rewrite turned_back by below | rewrite turned_forth by below
        | rewrite rev_div by below | rewrite rev_mod by below
        | rewrite rev_div' by below | rewrite rev_mod' by below
        | rewrite rev_digits by below | rewrite rev_digits' by below
        | around_whole
        | rewrite Nat.mod_mod by nia
        | rewrite Nat.div_1_r | rewrite Nat.mod_1_r
        | rewrite Nat.mod_small by below | rewrite Nat.div_small by below
        | rewrite mod_once by below ].
Ltac quotient := match goal with
  | |- ?d / ?m = ?q => apply div_between; name_divisions; nia
  | |- ?q = ?d / ?m => symmetry; apply div_between; name_divisions; nia
  end.
Ltac divides_nothing := lazymatch goal with
  | |- context [_ / _] => fail
  | |- context [_ mod _] => fail
  | |- @eq nat _ _ => idtac
  end.
Ltac arithmetic :=
  first [ lia
        | divides_nothing; timeout 1 nia  (* two polynomials that differ: give up soon *)
        | tryif divides_nothing then fail else
          solve [ repeat apply div_lt; nia | apply Nat.mod_upper_bound; nia | apply divided | nia
                | bound_digits; nia | name_divisions; nia ] ].
Ltac index := solve
  [ reflexivity | assumption | arithmetic
  | progress repeat divide; first [ arithmetic | same_remainder ] | same_remainder | quotient ].
