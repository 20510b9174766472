"""Client of the Evidence Retrieval Service: one file on the standard library, for Python 3.9 and later. Apache-2.0."""

import http.client
import json
import time
import uuid
from dataclasses import dataclass
from typing import Any, Dict, List, Literal, Optional, Type, TypedDict, Union
from urllib.parse import urlsplit

Signal = Literal[
    "evidence_probability", "evidence_probability_with_rewriter", "evidence_probability_with_reader"
]
UnsupportedReason = Literal["not_in_corpus", "outside_filters", "withdrawn"]
ErrorReason = Literal[
    "unknown_field", "not_entitled", "same_body", "another_body", "rate", "concurrency", "day", "month", "exposure"
]


class Filters(TypedDict, total=False):
    """Values of one list are alternatives; lists combine."""

    language: List[str]
    jurisdiction: List[str]
    subject: List[str]


class Document(TypedDict):
    """Times are ISO 8601 in UTC."""

    id: str
    revision_id: str
    title: str
    authority: str
    canonical_url: str
    published_at: str
    effective_at: str


class Citation(TypedDict):
    label: str
    source_anchor: str
    source_snapshot_id: str


class PassageMetadata(TypedDict):
    language: str
    jurisdiction: str
    verification_status: Literal["verified", "source-declared", "provisional", "withdrawn"]


class Result(TypedDict):
    """A passage with its source. `score` orders one reply and is not comparable across queries."""

    chunk_id: str
    text: str
    score: float
    document: Document
    citation: Citation
    metadata: PassageMetadata


class UnsupportedReference(TypedDict):
    """A provision that the question names and that cannot be served."""

    text: str
    normalized: str
    reason: UnsupportedReason


class Decision(TypedDict):
    """`answer` iff a passage remains, no reference is unsupported and `observed_value >= threshold`."""

    decision: Literal["answer", "abstain"]
    signal: Signal
    threshold: float
    observed_value: float
    unsupported_explicit_references: List[UnsupportedReference]


class Usage(TypedDict):
    query_embedding_tokens: Optional[int]
    result_count: int
    top_k: int
    dropped_for_size: int
    response_bytes: int


class RetrievalResponse(TypedDict):
    request_id: str
    knowledge_base: str
    version: str
    retrieval_profile: str
    results: List[Result]
    trace_id: str
    abstention: Decision
    usage: Usage


class ErrorDetail(TypedDict, total=False):
    """`path` and `message` are always there. `path` is a JSON pointer, the name of a header, `(body)` or `(plan)`."""

    path: str
    message: str
    reason: ErrorReason
    scope: str
    access_grows_at: str


@dataclass(frozen=True)
class Answer:
    """Sufficient evidence: passages, best first. `raw` is the body as received, which verify-reply.mjs needs."""

    results: List[Result]
    body: RetrievalResponse
    raw: bytes
    decision: Literal["answer"] = "answer"


@dataclass(frozen=True)
class Abstention:
    """No sufficient evidence. The same request is not sent again."""

    body: RetrievalResponse
    raw: bytes
    decision: Literal["abstain"] = "abstain"


Retrieval = Union[Answer, Abstention]


class EvidenceError(Exception):
    """Every failure of a client. What it names is never "no evidence"."""


class NotConnected(EvidenceError):
    """No connection was made: nothing was sent, nothing is charged."""


class NoReply(EvidenceError):
    """The request was sent, and no whole reply came in time; it may be charged. Ask again with `idempotency_key`."""

    def __init__(self, message: str, idempotency_key: str) -> None:
        super().__init__(message)
        self.idempotency_key = idempotency_key


class UnexpectedReply(EvidenceError):
    """The reply is none of the service, for example a page of a proxy."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status} with a body that is none of the service")
        self.status = status


class Refusal(EvidenceError):
    """A refusal of the service. `retry_after` are seconds, on every retryable error and only there."""

    def __init__(self, status: int, retry_after: Optional[int], body: Dict[str, Any]) -> None:
        error = body["error"]
        self.details: List[ErrorDetail] = error.get("details", [])
        faults = [f"{detail['path']} {detail['message']}" for detail in self.details]
        super().__init__(" ".join([error["message"], *faults]))
        self.status = status
        self.code: str = error["code"]
        self.request_id: str = body["request_id"]
        self.retryable: bool = error["retryable"]
        self.retry_after = retry_after
        self.reason: Optional[ErrorReason] = self.details[0].get("reason") if self.details else None
        self.original_request_id: Optional[str] = error.get("original_request_id")


class InvalidRequest(Refusal): ...
class InvalidApiKey(Refusal): ...
class ScopeForbidden(Refusal): ...
class EntitlementInactive(Refusal): ...
class FilterForbidden(Refusal): ...
class RequestAlreadyProcessed(Refusal): ...
class RateLimited(Refusal): ...
class QuotaExhausted(Refusal): ...
class InternalUnavailable(Refusal): ...
class RetrievalUnavailable(Refusal): ...


_REFUSALS: Dict[str, Type[Refusal]] = {
    "INVALID_REQUEST": InvalidRequest,
    "INVALID_API_KEY": InvalidApiKey,
    "SCOPE_FORBIDDEN": ScopeForbidden,
    "ENTITLEMENT_INACTIVE": EntitlementInactive,
    "FILTER_FORBIDDEN": FilterForbidden,
    "REQUEST_ALREADY_PROCESSED": RequestAlreadyProcessed,
    "RATE_LIMITED": RateLimited,
    "QUOTA_EXHAUSTED": QuotaExhausted,
    "INTERNAL_UNAVAILABLE": InternalUnavailable,
    "RETRIEVAL_UNAVAILABLE": RetrievalUnavailable,
}
_CONNECT_PAUSE_SECONDS = 0.5


class EvidenceClient:
    """For servers: an API key never reaches a browser.

    `timeout` is that of a call with its waits and retries, in seconds; a reply takes 20 at worst. A `Retry-After` beyond
    `retry_after_max` seconds is not waited for: the refusal is raised.
    """

    def __init__(
        self, base_url: str, api_key: str, *, timeout: float = 30, retries: int = 2, retry_after_max: int = 10
    ) -> None:
        self._url = urlsplit(f"{base_url.rstrip('/')}/v1/retrieve")
        self._headers = {"Authorization": f"Bearer {api_key}", "Content-Type": "application/json"}
        self._timeout = timeout
        self._retries = retries
        self._retry_after_max = retry_after_max

    def retrieve(
        self, query: str, knowledge_base: str, *, filters: Optional[Filters] = None, top_k: Optional[int] = None,
        profile: Optional[str] = None, idempotency_key: Optional[str] = None,
    ) -> Retrieval:
        """Asks; asks again where no connection was made, or where the service says that it may be tried again soon.

        Raises a subclass of Refusal by the code; NotConnected, NoReply, UnexpectedReply.
        """
        fields: Dict[str, Any] = {"query": query, "knowledge_base": knowledge_base, "filters": filters}
        fields.update(top_k=top_k, profile=profile)
        given = {name: value for name, value in fields.items() if value is not None}
        payload = json.dumps(given, ensure_ascii=False).encode()
        key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
        ends_at = time.monotonic() + self._timeout
        attempt = 0
        while True:
            try:
                return self._send(payload, key, ends_at)
            except (NotConnected, Refusal) as error:
                wait = self._wait_before(error)
                if wait is None or attempt >= self._retries or time.monotonic() + wait >= ends_at:
                    raise
            attempt += 1
            time.sleep(wait)

    def _wait_before(self, error: EvidenceError) -> Optional[float]:
        """None where a request is not sent again."""
        if not isinstance(error, Refusal):
            return _CONNECT_PAUSE_SECONDS
        if not error.retryable or error.retry_after is None or error.retry_after > self._retry_after_max:
            return None
        return error.retry_after

    def _send(self, payload: bytes, key: str, ends_at: float) -> Retrieval:
        secure = self._url.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(self._url.hostname or "", self._url.port, timeout=_left(ends_at))
        try:
            try:
                connection.connect()
            except OSError as cause:
                raise NotConnected(f"{self._url.netloc}: {cause}") from cause
            try:
                connection.sock.settimeout(_left(ends_at))
                connection.request("POST", self._url.path, payload, {**self._headers, "Idempotency-Key": key})
                response = connection.getresponse()
                raw = response.read()
            except (OSError, http.client.HTTPException) as cause:
                late = isinstance(cause, TimeoutError)
                why = f"no reply within {self._timeout} s" if late else f"the connection broke: {cause}"
                raise NoReply(why, key) from cause
        finally:
            connection.close()
        return _reply(response.status, response.getheader("Retry-After"), raw)


def _left(ends_at: float) -> float:
    return max(ends_at - time.monotonic(), 0.001)


def _reply(status: int, retry_after: Optional[str], raw: bytes) -> Retrieval:
    try:
        body = json.loads(raw)
        if status == 200:
            decision, results = body["abstention"]["decision"], body["results"]
            if decision == "answer" and results:
                return Answer(results, body, raw)
            if decision == "abstain" and results == []:
                return Abstention(body, raw)
            raise UnexpectedReply(status)
        kind = _REFUSALS.get(body["error"]["code"], Refusal)
        refusal = kind(status, None if retry_after is None else int(retry_after), body)
    except (ValueError, KeyError, TypeError) as cause:
        raise UnexpectedReply(status) from cause
    raise refusal
