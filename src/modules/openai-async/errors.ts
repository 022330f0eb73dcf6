/** Errors of batches (D57). */
import { errorTable } from "../../kernel/core/error-table.ts";

export const ERRORS = errorTable({
	input_file_not_found: {
		status: 400,
		sentence: "There is no file '{file}' on endpoint '{endpoint}': the id is unknown, or the file has expired.",
		advice: "Upload the file to the same endpoint, with purpose batch.",
	},
	batch_not_found: {
		status: 404,
		sentence: "There is no batch '{batch}' on endpoint '{endpoint}'.",
		advice: "List the batches of the endpoint.",
	},
	files_not_stored: {
		status: 501,
		sentence: "This service was built without the module files, so it runs no batches.",
		isExpected: true,
		advice: "Use a service with all modules.",
	},
});
