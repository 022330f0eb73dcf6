/** Script of the API reference: search, and the language that the reader chose. */
export const DOCS_SCRIPT = `
const search = document.querySelector("#search");
const none = document.querySelector("#none");
const entries = [...document.querySelectorAll("main article")].map((article) => ({
	article,
	item: document.querySelector('nav a[href="#' + article.id + '"]')?.parentElement,
	text: [...article.children]
		.filter((part) => !part.matches("[data-language]"))
		.map((part) => part.textContent.replaceAll("\\u200b", ""))
		.join(" ")
		.toLowerCase(),
}));
const groups = [...document.querySelectorAll("main .group")].map((section) => ({
	section,
	parts: document.querySelectorAll('nav [data-group="' + section.getAttribute("aria-labelledby") + '"]'),
}));

function filter() {
	const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
	for (const { article, item, text } of entries) {
		article.hidden = !words.every((word) => text.includes(word));
		if (item) item.hidden = article.hidden;
	}
	for (const { section, parts } of groups) {
		section.hidden = !section.querySelector("article:not([hidden])");
		for (const part of parts) part.hidden = section.hidden;
	}
	none.hidden = entries.some(({ article }) => !article.hidden);
	none.textContent = none.hidden ? "" : "Nothing here has " + words.join(" and ") + ".";
	document.querySelector(".intro").hidden = words.length > 0;
}

search.closest("search").hidden = false;
search.addEventListener("input", filter);
document.addEventListener("keydown", (event) => {
	if (event.key === "Escape" && document.activeElement === search) {
		search.value = "";
		filter();
	}
	if (event.key !== "/" || event.target.matches("input")) return;
	event.preventDefault();
	search.focus();
});
// A link to what the search hides shows everything again.
addEventListener("hashchange", () => {
	const target = document.getElementById(location.hash.slice(1));
	if (!target?.closest("[hidden]")) return;
	search.value = "";
	filter();
	target.scrollIntoView();
});

const KEY = "sluice-docs-language";
for (const choice of document.getElementsByName("language"))
	choice.addEventListener("change", () => {
		try { localStorage.setItem(KEY, choice.id); } catch {}
	});
try {
	const choice = document.getElementById(localStorage.getItem(KEY) ?? "");
	if (choice) choice.checked = true;
} catch {}
filter();
`;
