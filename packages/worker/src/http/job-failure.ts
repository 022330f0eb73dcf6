/** Fails the job. The message is its error. */
export class JobFailure extends Error {}
