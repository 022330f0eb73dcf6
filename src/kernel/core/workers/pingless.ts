/** Workers that have never pinged and had a job for longer than its lease (D16 Lease). */

const MS = 1000;

export function pinglessText(leaseMs: number): string {
	return `sends no pings: jobs that take over ${leaseMs / MS} s are started again; raise leaseMs of the endpoint`;
}
