// Package wrap adds behaviour to models: each function takes a Model, or
// several, and returns one. What a wrapper does that its caller did not ask for
// by itself is an event of the stream: [llm.Retrying], [llm.Switched] or
// [llm.Notice].
//
//	m = wrap.Retry(m, wrap.RetryOptions{})
//
// The order in which wrappers are put together matters. From the outside in:
//
//		CacheWatch(Route(Fallback(Retry(Salvage(Watchdog(model)))), …))
//
//	  - [Watchdog] is next to the model: it must see each sign of life, also of
//	    text that is then held back, and its error must be one that can be retried.
//	  - [Salvage] is inside Retry, since text that it holds back was not shown:
//	    what fails then can be tried again. It is about one model, so it wraps that
//	    one and not its stand-ins.
//	  - [Retry] is around each model by itself: a model is given up only when
//	    waiting did not help.
//	  - [Fallback] is outside Retry, so that it moves on after the retries, and
//	    inside Route, so that each tier has stand-ins of its own kind.
//	  - [Route] decides once, before anything is sent.
//	  - [CacheWatch] is outermost: it compares what the conversation sends and
//	    what it is billed, whichever model answered.
//
// Each wrapper is safe for concurrent use and shared by all conversations on
// its model; what it remembers of one is bounded.
package wrap
