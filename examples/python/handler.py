"""Text statistics: a streaming worker written with RunPod's Python SDK. It needs no GPU and no model.

Input:  {"text": str, "top": int = 10}   top: how many of the most frequent words to list, 0 to 100
Chunks: one {"paragraph", "words", "sentences"} for each paragraph as it is counted,
        and last {"summary": {"words", "distinct_words", "sentences", "longest_word", "reading_seconds", "top_words"}}
Output: the list of all chunks
"""

import re
from collections import Counter

import runpod

WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
SENTENCE_END = re.compile(r"[.!?]+[\"'”’)]*(?:\s|$)")
WORDS_PER_MINUTE = 230
MAX_TOP = 100


def check(job_input):
    """Says what is wrong with the input, or None."""
    text, top = job_input.get("text"), job_input.get("top", 10)
    if not isinstance(text, str) or not text.strip():
        return "`text` is missing. Send the text to count as a string."
    if isinstance(top, bool) or not isinstance(top, int) or not 0 <= top <= MAX_TOP:
        return f"`top` must be a whole number from 0 to {MAX_TOP}."
    return None


async def handler(job):
    """Yields one chunk per paragraph, then the summary."""
    job_input = job["input"]
    problem = check(job_input)
    if problem:
        # An item with an `error` ends the stream and fails the job with this sentence.
        yield {"error": problem}
        return

    counts = Counter()
    sentences = 0
    paragraphs = [part for part in re.split(r"\n\s*\n", job_input["text"]) if part.strip()]
    for number, paragraph in enumerate(paragraphs, start=1):
        words = WORD.findall(paragraph)
        counts.update(word.lower() for word in words)
        found = max(1, len(SENTENCE_END.findall(paragraph)))
        sentences += found
        yield {"paragraph": number, "words": len(words), "sentences": found}

    total = sum(counts.values())
    top = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[: job_input.get("top", 10)]
    yield {
        "summary": {
            "words": total,
            "distinct_words": len(counts),
            "sentences": sentences,
            "longest_word": max(counts, key=len, default=""),
            "reading_seconds": round(60 * total / WORDS_PER_MINUTE),
            "top_words": [{"word": word, "count": count} for word, count in top],
        }
    }


if __name__ == "__main__":
    runpod.serverless.start({"handler": handler, "return_aggregate_stream": True})
