(* The denotation of every pattern, in the order of the language: algorithmic, layout, OpenCL.

   A size that the meaning needs is a parameter, given by the type of the program.  OpenCL patterns mean
   what their algorithmic counterparts mean.  i32 and i64 are Z, truth values are bool, a vector is the array
   of its lanes.  Where a pattern is undefined (an index out of range), it continues with the nearest index
   or the first element; a program that meets this has no meaning in the language.

   `proofs_tests/rewrites/checks/rocq/test_conformance.py` compares each of these with the interpreter. *)

From Coq Require List.
From Relift Require Export Arrays.
Set Implicit Arguments.

Local Open Scope list_scope.

(* ---- algorithmic ---- *)

Definition map (A B : Type) (f : A -> B) (xs : arr A) : arr B := fun i => f (xs i).
Definition zip (A B : Type) (xs : arr A) (ys : arr B) : arr (A * B) := fun i => (xs i, ys i).
Definition unzip (A B : Type) (ps : arr (A * B)) : arr A * arr B :=
  (fun i => fst (ps i), fun i => snd (ps i)).

(* The left fold: all that combines elements in order is made of it. *)
Fixpoint fold (A B : Type) (f : B -> A -> B) (z : B) (n : nat) (xs : arr A) : B :=
  match n with O => z | S k => f (fold f z k xs) (xs k) end.

Definition reduce (A : Type) (op : A -> A -> A) (z : A) (n : nat) (xs : arr A) : A := fold op z n xs.
Definition reduce_seq (A B : Type) (f : B -> A -> B) (z : B) (n : nat) (xs : arr A) : B := fold f z n xs.
Definition partial_reduce (A : Type) (op : A -> A -> A) (z : A) (m : nat) (xs : arr A) : arr A :=
  fun i => fold op z m (fun j => xs (i * m + j)).
Definition scan_seq (A B : Type) (f : B -> A -> B) (z : B) (xs : arr A) : arr B :=
  fun i => fold f z (S i) xs.
Fixpoint iterate (A : Type) (m : nat) (f : A -> A) (x : A) : A :=
  match m with O => x | S k => f (iterate k f x) end.
(* f halves, thirds, ... the length, down to k; it is given the length of its result. *)
Fixpoint iterate_sizes (A : Type) (m factor : nat) (f : nat -> arr A -> arr A) (k : nat) (xs : arr A)
  : arr A :=
  match m with O => xs | S j => iterate_sizes j factor f k (f (k * factor ^ j) xs) end.
Definition let_in (A B : Type) (f : A -> B) (x : A) : B := f x.

Definition generate (B : Type) (f : Z -> B) : arr B := fun i => f (Z.of_nat i).
Definition row (A : Type) (first : A) (rest : list A) : arr A := fun i => List.nth i (first :: rest) first.
Definition literal_array (A : Type) (values : arr A) : arr A := values.
Definition repeat (A : Type) (x : A) : arr A := fun _ => x.

(* i counts the elements taken so far, n those that are left. *)
Fixpoint reduce_while_from (A B : Type) (f : B -> A -> B) (p : B -> A -> bool) (z : B) (i n : nat)
  (xs : arr A) : Z * B :=
  match n with
  | O => (Z.of_nat i, z)
  | S k => if p z (xs i) then reduce_while_from f p (f z (xs i)) (S i) k xs else (Z.of_nat i, z)
  end.
Definition reduce_while (A B : Type) (f : B -> A -> B) (p : B -> A -> bool) (z : B) (n : nat)
  (xs : arr A) : Z * B := reduce_while_from f p z 0 n xs.

(* Filtering, sorting and searching choose positions. *)
Definition kept (A : Type) (p : A -> bool) (n : nat) (xs : arr A) : list nat :=
  List.filter (fun i => p (xs i)) (List.seq 0 n).
Definition filter_seq (A : Type) (p : A -> bool) (fill : A) (n : nat) (xs : arr A) : Z * arr A :=
  (Z.of_nat (List.length (kept p n xs)),
   fun i => match List.nth_error (kept p n xs) i with Some j => xs j | None => fill end).

Fixpoint insert (before : nat -> nat -> bool) (i : nat) (found : list nat) : list nat :=
  match found with
  | nil => i :: nil
  | j :: rest => if before i j then i :: found else j :: insert before i rest
  end.
Definition order (before : nat -> nat -> bool) (n : nat) : list nat :=
  List.fold_left (fun found i => insert before i found) (List.seq 0 n) nil.
Definition insertion_sort_seq (A : Type) (before : A -> A -> bool) (n : nat) (xs : arr A) : arr A :=
  fun i => xs (List.nth i (order (fun i j => before (xs i) (xs j)) n) 0).

Definition linear_search (A : Type) (f : A -> Z) (default : A) (n : nat) (xs : arr A) : A :=
  match List.find (fun i => Z.eqb (f (xs i)) 0) (List.seq 0 n) with Some i => xs i | None => default end.
Definition binary_search (A : Type) (f : A -> Z) (default : A) (n : nat) (xs : arr A) : A :=
  linear_search f default n xs.

Definition at_runtime (A : Type) (i : Z) (default : A) (n : nat) (xs : arr A) : A :=
  if andb (Z.leb 0 i) (Z.ltb i (Z.of_nat n)) then xs (Z.to_nat i) else default.
Definition nearest (i : Z) (n : nat) : nat := Nat.min (Z.to_nat i) (n - 1).
Definition at_runtime_unsafe (A : Type) (i : Z) (n : nat) (xs : arr A) : A := xs (nearest i n).
Definition gather_indices (A : Type) (ids : arr Z) (n : nat) (xs : arr A) : arr A :=
  fun i => xs (nearest (ids i) n).
Definition scatter_indices (A : Type) (m : nat) (ids : arr Z) (xs into : arr A) : arr A :=
  fun i => match List.find (fun j => Z.eqb (ids j) (Z.of_nat i)) (List.seq 0 m) with
           | Some j => xs j
           | None => into i
           end.

(* ---- layout ---- *)

Definition split (A : Type) (m : nat) (xs : arr A) : arr (arr A) := fun i j => xs (i * m + j).
Definition join (A : Type) (m : nat) (xss : arr (arr A)) : arr A := fun i => xss (i / m) (i mod m).
Definition transpose (A : Type) (xss : arr (arr A)) : arr (arr A) := fun i j => xss j i.
Definition slide (A : Type) (step : nat) (xs : arr A) : arr (arr A) := fun i j => xs (i * step + j).

Definition pad_clamp (A : Type) (left n : nat) (xs : arr A) : arr A :=
  fun i => xs (Nat.min (i - left) (n - 1)).
Definition pad_constant (A : Type) (left n : nat) (value : A) (xs : arr A) : arr A :=
  fun i => if i <? left then value else if i - left <? n then xs (i - left) else value.
(* i - left, modulo the period: -1 is (period - 1) there. *)
Definition around (left period i : nat) : nat := (i + left * (period - 1)) mod period.
Definition pad_wrap (A : Type) (left n : nat) (xs : arr A) : arr A := fun i => xs (around left n i).
Definition pad_mirror (A : Type) (left n : nat) (xs : arr A) : arr A :=
  fun i => let j := around left (2 * n) i in xs (if j <? n then j else 2 * n - 1 - j).

Definition take (A : Type) (xs : arr A) : arr A := xs.
Definition drop (A : Type) (m : nat) (xs : arr A) : arr A := fun i => xs (m + i).
Definition at_index (A : Type) (i : nat) (xs : arr A) : A := xs i.
Definition head (A : Type) (xs : arr A) : A := xs 0.
Definition tail (A : Type) (xs : arr A) : arr A := fun i => xs (S i).
Definition concat (A : Type) (n : nat) (xs ys : arr A) : arr A :=
  fun i => if i <? n then xs i else ys (i - n).

Definition gather (A : Type) (p : nat -> nat) (xs : arr A) : arr A := fun i => xs (p i).
Fixpoint position (p : nat -> nat) (n j : nat) : nat :=
  match n with O => O | S k => if p k =? j then k else position p k j end.
Definition scatter (A : Type) (p : nat -> nat) (n : nat) (xs : arr A) : arr A :=
  fun j => xs (position p n j).

(* ---- OpenCL: who computes, where it is stored, vectors ---- *)

Definition store (A : Type) (xs : A) : A := xs.
Definition map_slide (A B : Type) (step : nat) (f : arr A -> B) (xs : arr A) : arr B :=
  map f (slide step xs).
Definition circular_buffer (A B : Type) (f : A -> B) (xs : arr A) : arr (arr B) := slide 1 (map f xs).
Definition as_vector (A : Type) (width : nat) (xs : arr A) : arr (arr A) := split width xs.
Definition as_scalar (A : Type) (width : nat) (vs : arr (arr A)) : arr A := join width vs.
Definition vectorize (A : Type) (op : A -> A -> A) : arr A -> arr A -> arr A :=
  fun v w i => op (v i) (w i).

(* ---- where a pattern is defined ----

   The denotations above are total; the language is not.  What follows says where a pattern with defined data
   is defined: every index is in range, every call of a function is defined, and only what the interpreter
   calls is called.  D is where a function is defined. *)

Definition every (n : nat) (P : nat -> Prop) : Prop := forall i, i < n -> P i.
Definition in_range (n : nat) (i : Z) : Prop := (0 <= i < Z.of_nat n)%Z.

Definition map_defined (A : Type) (D : A -> Prop) (n : nat) (xs : arr A) : Prop :=
  every n (fun i => D (xs i)).
Definition fold_defined (A B : Type) (f : B -> A -> B) (D : B -> A -> Prop) (z : B) (n : nat) (xs : arr A)
  : Prop := every n (fun i => D (fold f z i xs) (xs i)).
Definition partial_reduce_defined (A : Type) (op : A -> A -> A) (D : A -> A -> Prop) (z : A) (k m : nat)
  (xs : arr A) : Prop := every k (fun i => fold_defined op D z m (fun j => xs (i * m + j))).
Definition iterate_defined (A : Type) (m : nat) (f : A -> A) (D : A -> Prop) (x : A) : Prop :=
  every m (fun i => D (iterate i f x)).
Fixpoint iterate_sizes_defined (A : Type) (m factor : nat) (f : nat -> arr A -> arr A)
  (D : nat -> arr A -> Prop) (k : nat) (xs : arr A) : Prop :=
  match m with
  | O => True
  | S j => D (k * factor ^ j) xs /\ iterate_sizes_defined j factor f D k (f (k * factor ^ j) xs)
  end.
Definition let_defined (A : Type) (D : A -> Prop) (x : A) : Prop := D x.
Definition generate_defined (D : Z -> Prop) (n : nat) : Prop := every n (fun i => D (Z.of_nat i)).
Definition vectorize_defined (A : Type) (D : A -> A -> Prop) (width : nat) (v w : arr A) : Prop :=
  every width (fun i => D (v i) (w i)).

Fixpoint reduce_while_defined_from (A B : Type) (f : B -> A -> B) (Df : B -> A -> Prop) (p : B -> A -> bool)
  (Dp : B -> A -> Prop) (z : B) (i n : nat) (xs : arr A) : Prop :=
  match n with
  | O => True
  | S k => Dp z (xs i) /\
      (p z (xs i) = true -> Df z (xs i) /\ reduce_while_defined_from f Df p Dp (f z (xs i)) (S i) k xs)
  end.
Definition reduce_while_defined (A B : Type) (f : B -> A -> B) (Df : B -> A -> Prop) (p : B -> A -> bool)
  (Dp : B -> A -> Prop) (z : B) (n : nat) (xs : arr A) : Prop :=
  reduce_while_defined_from f Df p Dp z 0 n xs.

(* An element is compared with those before it in their order so far, up to the one it goes before. *)
Fixpoint insert_defined (before : nat -> nat -> bool) (D : nat -> nat -> Prop) (i : nat) (found : list nat)
  : Prop :=
  match found with
  | nil => True
  | j :: rest => D i j /\ (before i j = false -> insert_defined before D i rest)
  end.
Definition insertion_sort_seq_defined (A : Type) (before : A -> A -> bool) (D : A -> A -> Prop) (n : nat)
  (xs : arr A) : Prop :=
  every n (fun i => insert_defined (fun i j => before (xs i) (xs j)) (fun i j => D (xs i) (xs j)) i
                      (order (fun i j => before (xs i) (xs j)) i)).

Definition linear_search_defined (A : Type) (f : A -> Z) (D : A -> Prop) (n : nat) (xs : arr A) : Prop :=
  every n (fun i => every i (fun j => f (xs j) <> 0%Z) -> D (xs i)).
Definition binary_search_defined (A : Type) (f : A -> Z) (D : A -> Prop) (n : nat) (xs : arr A) : Prop :=
  map_defined D n xs /\
  every n (fun j => every j (fun i => (Z.sgn (f (xs j)) <= Z.sgn (f (xs i)))%Z)).

Definition gather_indices_defined (ids : arr Z) (m n : nat) : Prop := every m (fun i => in_range n (ids i)).
Definition scatter_indices_defined (ids : arr Z) (m n : nat) : Prop :=
  gather_indices_defined ids m n /\ every m (fun i => every i (fun j => ids i <> ids j)).
Definition gather_defined (p : nat -> Z) (n : nat) : Prop := every n (fun i => in_range n (p i)).
Definition scatter_defined (p : nat -> Z) (n : nat) : Prop :=
  gather_defined p n /\ every n (fun j => exists i, i < n /\ p i = Z.of_nat j).
