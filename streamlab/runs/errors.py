"""Every refusal that a visitor can meet here: code, sentence, place, mend.

The table in docs/protocol.md is generated from this catalogue. Errors of the engine (engine/errors.py)
have the same four parts and reach the browser unchanged.
"""

from streamlab.refusals import Refusal, Refused

CATALOGUE: dict[str, Refusal] = {
    # ---- the form of a message
    "malformed": Refusal(
        "The message is not JSON text with an object at its top.",
        'Send one object per message, such as {{"type": "ping", "ref": 1}}.',
    ),
    "too_large": Refusal(
        "The message has {size} bytes; at most {limit} are read.",
        "Send a shorter message.",
        status=413,
    ),
    "unknown_message": Refusal(
        "There is no message of type {type}.",
        "Send one of: {known}.",
    ),
    "bad_field": Refusal(
        "{name} of {message} must be {rule}.",
        "Send {rule}.",
    ),
    "hello_first": Refusal(
        "The first message of a connection must be hello.",
        "Send hello with the protocol number, then the rest.",
    ),
    "hello_late": Refusal(
        "No hello came within {seconds} seconds.",
        "Connect again and send hello at once.",
        closes=4001,
    ),
    "hello_twice": Refusal(
        "This connection has said hello already.",
        "Open another connection for another view.",
    ),
    "old_page": Refusal(
        "StreamLab was updated, reload keeps your place.",
        "Reload the page.",
        closes=4002,
    ),
    "too_fast": Refusal(
        "More than {rate} messages a second came from {whom}; this one was left out.",
        "Wait a moment and send it again.",
        status=429,
    ),
    "flood": Refusal(
        "{count} messages in a row had to be refused.",
        "Reload the page.",
        closes=4008,
    ),
    # ---- whose run, and which
    "unknown_run": Refusal(
        "There is no run with this address: it may have expired, since runs without an account are "
        "kept for {days} days after their last use.",
        "Open the lab and start a new run.",
        closes=4004,
        status=404,
    ),
    "not_yours": Refusal(
        "This run belongs to somebody else: it can be watched, but only its owner drives it.",
        "Start a run of your own, or ask for a share link, which opens a copy.",
        status=403,
    ),
    "unknown_lab": Refusal(
        "There is no lab named {slug} here.",
        "Choose one from the list of labs.",
        status=404,
    ),
    "unknown_link": Refusal(
        "This share link leads nowhere: the run that it showed is no longer kept.",
        "Ask for a new link, or open the lab.",
        status=404,
    ),
    "bad_parameter": Refusal(
        "{sentence}",
        "Change the value and start again.",
    ),
    # ---- what the run can do now
    "stale": Refusal(
        "The run has moved since this page last saw it: it is at step {position} of {head}.",
        "Look at the fresh view and ask again.",
    ),
    "elsewhere": Refusal(
        "Another window drives this run through another server at this moment.",
        "Use that window, or close it and ask again in {seconds} seconds.",
    ),
    "nothing_possible": Refusal(
        "Nothing more can happen in this run.",
        "Step back, or start a new run.",
    ),
    "outside": Refusal(
        "Step {step} lies outside this run, which has {head} steps.",
        "Choose a step from 0 to {head}.",
    ),
    "still_asking": Refusal(
        "The last question of this page is still being answered.",
        "Wait for its answer and ask again.",
    ),
    "not_a_job": Refusal(
        "This is a network of processes: it has no windows, no event time, no results and no checkpoints of a job.",
        "Ask this of the run of a job.",
    ),
    "unknown_element": Refusal(
        "Nothing is known of where {element} came from: it is no record that this run has made up to this step.",
        "Ask about a record in a channel, or about a result of a sink.",
    ),
    "unknown_invariant": Refusal(
        "There is no invariant named {name} for this run.",
        "Choose one of the list that the page shows.",
    ),
    "steps_limit": Refusal(
        "Limit of {limit} steps reached: this run cannot grow further.",
        "Go back and branch, or start a new run; everything so far stays readable.",
    ),
    "memory_limit": Refusal(
        "This run fills its {limit} MB of memory and cannot grow further.",
        "Go back and branch, or start a new run; everything so far stays readable.",
    ),
    "server_full": Refusal(
        "{limit} runs are live on this server, which is as many as it takes.",
        "Try again in a minute; your run is kept.",
        status=503,
    ),
    "outside_comparison": Refusal(
        "The cursor {cursor} lies outside this comparison, which ends at {length}.",
        "Choose one from 0 to {length}.",
    ),
    "comparisons_full": Refusal(
        "{limit} comparisons are being made on this server, which is as many as it makes at once.",
        "Try again in a few seconds.",
        status=503,
    ),
    "run_diverged": Refusal(
        "This run was made by another version of StreamLab and does not replay to the same steps "
        "any more (first difference before step {step}).",
        "Start a new run of this lab with the same seed.",
    ),
    "run_unreadable": Refusal(
        "This run cannot be rebuilt: {sentence}",
        "Start a new run of this lab.",
    ),
    # ---- questions
    "unknown_question": Refusal(
        "The lab {lab} has no question {name}.",
        "Go back to the lab: it may have been edited.",
        status=404,
    ),
    "unknown_submission": Refusal(
        "There is no such submission of yours.",
        "Open it in the browser, or with the account, that it was made with.",
        status=404,
    ),
    "no_variant": Refusal(
        "This question has not been begun.",
        "Begin it; then answer.",
    ),
    "answer_first": Refusal(
        "This run goes on once the question is answered.",
        "Answer it; then step on and see.",
        status=409,
    ),
    "answered": Refusal(
        "This question is answered already.",
        "Ask for another variant.",
        status=409,
    ),
    "still_judged": Refusal(
        "An answer to this question is still being judged.",
        "Reload the page; it shows what came out, or lets you ask.",
        status=409,
    ),
    "wrong_run": Refusal(
        "This run is not one of the question: it has another seed, other parameters, or another protocol.",
        "Open the question's own run, and drive that.",
    ),
    "no_hint": Refusal(
        "There is no further hint to this question.",
        "Read those that are there again.",
    ),
    "no_replay": Refusal(
        "This report is about no run.",
        "Read its sentences.",
        status=404,
    ),
    "question_broken": Refusal(
        "This question cannot be asked at present.",
        "Tell your instructor: manage.py checklabs says what is wrong with it.",
        status=503,
    ),
    "not_saved": Refusal(
        "The step could not be saved, so it was not taken.",
        "Ask again; if it happens again, tell whoever runs this server that its disk may be full.",
    ),
    # ---- explorations
    "unknown_exploration": Refusal(
        "There is no exploration with this address: it may have expired, since those without an account are "
        "kept for {days} days.",
        "Start a new one from the page of a lab or a run.",
        closes=4004,
        status=404,
    ),
    "bad_exploration": Refusal("{sentence}", "{mend} Then search again."),
    "too_far": Refusal(
        "This server explores with {name} up to {limit}.",
        "Ask for less, or run the search on a machine of your own.",
    ),
    "still_exploring": Refusal(
        "Another exploration of yours is still under way, perhaps in another window.",
        "Stop it, or wait until it has ended.",
        status=409,
    ),
    "explorations_full": Refusal(
        "{limit} explorations wait for their turn already, which is as many as this server takes.",
        "Try again in a minute.",
        status=503,
    ),
    "exploration_crashed": Refusal(
        "The process that searched {how}, so there is no result.",
        "Start again, with smaller bounds if it happens twice.",
    ),
    "exploration_lost": Refusal(
        "The server was stopped while this exploration was under way, so there is no result.",
        "Start it again.",
    ),
    "no_trace": Refusal(
        "This exploration has found no violation, so there is no run to open.",
        "Start another one.",
    ),
    "our_mistake": Refusal(
        "StreamLab made a mistake; your run is kept.",
        "Ask again, or reload the page. The operator's log has the details.",
        status=500,
    ),
}


class RunError(Refused):
    """A refusal of a run."""

    catalogue = CATALOGUE
