/** Characters of the label that an account gives to a validator. */
export const LABEL_MAX = 64
/** No control characters, invisible ones or line breaks: labels are printed in lists. Empty takes a label away. For the flag `u`. */
export const LABEL_PATTERN = `^[^\\p{C}\\p{Zl}\\p{Zp}]{0,${LABEL_MAX}}$`
/** Validators that one request labels. */
export const LABELLED_MAX = 1_000
