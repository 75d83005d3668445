void letters(const int *text, int n, int *count) {
  for (int i = 0; i < n; i++)
    count[text[i]]++;
}
