/** Examples of files. */
import type { Example } from "./job-examples.ts";

const JOB_ID = "019b2f6e-7c1a-7d25-9a41-5f0f6a1c2e77";
const FILE_ID = "file-019b2f6e7c1a7d259a415f0f6a1c2e77";
const UPLOADED = {
	id: FILE_ID,
	object: "file",
	bytes: 5,
	created_at: 1769860800,
	filename: "hello.txt",
	purpose: "user_data",
	status: "processed",
	status_details: null,
};

export const FILE_EXAMPLES = {
	createFile: { body: { purpose: "user_data", file: "hello" }, answer: UPLOADED },
	listFiles: {
		answer: { object: "list", data: [UPLOADED], first_id: FILE_ID, last_id: FILE_ID, has_more: false },
	},
	getFile: { answer: UPLOADED },
	listJobFiles: {
		answer: {
			enabled: true,
			files: [
				{
					name: "picture.png",
					bucket: "01-26",
					bytes: 81_920,
					contentType: "image/png",
					url: `https://sluice.example.com/s3/01-26/${JOB_ID}/picture.png?X-Amz-Algorithm=AWS4-HMAC-SHA256`,
				},
			],
		},
	},
	removeFile: { answer: { id: FILE_ID, object: "file", deleted: true } },
} satisfies Readonly<Record<string, Example>>;
