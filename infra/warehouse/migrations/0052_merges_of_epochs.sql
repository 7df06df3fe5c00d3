-- Each insert has rows of one epoch, behind those of the inserts before: no question reads fewer rows once parts are merged, and rows that were written
-- anew are told apart by FINAL. With very many validators merges took more than inserts.
ALTER TABLE validator_epochs MODIFY SETTING merge_selector_base = 30;
