/** Files of jobs that other modules make, such as pictures of an answer (D60). */
import { createHash } from "node:crypto";
import type { Endpoint } from "../../../kernel/core/endpoints/endpoint.ts";
import type { JobFiles } from "../../../kernel/engine/job-files.ts";
import type { Kernel } from "../../../kernel/module.ts";
import { credentialsOf, epochOf } from "../requests/credentials.ts";
import { linker } from "../objects/objects.ts";
import type { Objects } from "../objects/store.ts";

/** Workers choose others. */
const BUCKET = "answers";

export function keptFiles(kernel: Kernel, objects: Objects, endpoint: Endpoint): JobFiles {
	const { keyId: by } = credentialsOf(kernel.encryption, endpoint.id, epochOf(endpoint));
	return {
		async put(job, { name, contentType, pieces }) {
			const md5 = createHash("md5");
			async function* hashed(): AsyncGenerator<Buffer> {
				for (const piece of pieces) {
					const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
					md5.update(bytes);
					yield bytes;
				}
			}
			const place = { endpoint: endpoint.id, bucket: BUCKET, key: `${job}/${name}` };
			const source = { pieces: hashed(), declared: undefined, md5: () => md5.digest(), by };
			const { expiresAt } = await objects.put(
				{ ...place, headers: { "content-type": contentType }, ifAbsent: false },
				source,
			);
			return (await linker(kernel, endpoint.id))(place, expiresAt);
		},
	};
}
