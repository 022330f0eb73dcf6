/** Errors of videos (D62). */
import { errorTable } from "../../kernel/core/error-table.ts";

export const ERRORS = errorTable({
	video_not_found: {
		status: 404,
		sentence: "There is no video '{video}' on endpoint '{endpoint}': the id is unknown, or it has expired.",
		advice: "Download a video before its `expires_at`.",
	},
	variant_not_found: {
		status: 404,
		sentence: "Video '{video}' has no {variant}: {why}.",
		advice: "Ask again when the status is completed. Whether there is a thumbnail or spritesheet, the worker decides.",
	},
	videos_not_supported: {
		status: 501,
		sentence: "{what} of videos is not part of this service: no model server has it.",
		isExpected: true,
		advice: "Create a video with `input_reference`, or remix one.",
	},
});
