/** Bytes of each part of an object but the last: the least that S3 accepts. R2 wants them to be equal. */
export const PART_BYTES = 5 * 2 ** 20;

/** S3 accepts no more in an object. */
export const MOST_PARTS = 10_000;
