package llm

// Estimates are for budgets and for the time before a provider has reported
// anything. Text is taken at 3.6 bytes a token, which is right within some 20 %
// for code and prose in English; an image counts as imageTokens, whatever its
// size, since providers scale images down to about that.
const (
	bytesPerToken10 = 36
	imageTokens     = 1600
	messageTokens   = 4
)

// Estimate guesses the input tokens of req.
func Estimate(req *Request) int {
	n := textTokens(len(req.System))
	for _, t := range req.Tools {
		n += textTokens(len(t.Name) + len(t.Description) + len(t.Input) + len(t.Format))
	}
	for _, m := range req.Messages {
		n += m.Estimate()
	}
	return n
}

// Estimate guesses the tokens of m. The guess is kept as [Message.Encoded]
// keeps the wire form.
func (m Message) Estimate() int {
	if m.memo == nil {
		return messageTokens + m.Parts.estimate()
	}
	n := int(m.memo.tokens.Load())
	if n == 0 {
		n = messageTokens + m.Parts.estimate()
		m.memo.tokens.Store(int64(n))
	}
	return n
}

func (ps Parts) estimate() int {
	n := 0
	for _, p := range ps {
		switch p := p.(type) {
		case Text:
			n += textTokens(len(p.Text))
		case Thinking:
			n += textTokens(max(len(p.Text)+len(p.Signature), len(p.Raw)))
		case Blob:
			if p.MIME == "application/pdf" {
				n += max(imageTokens, textTokens(len(p.Data)/4))
			} else {
				n += imageTokens
			}
		case ToolCall:
			n += textTokens(len(p.Name) + len(p.Input) + len(p.ID))
		case ToolResult:
			n += textTokens(len(p.CallID)) + p.Parts.estimate()
		case Native:
			n += textTokens(len(p.Raw))
		case Unknown:
		}
	}
	return n
}

func textTokens(bytes int) int { return (bytes*10 + bytesPerToken10 - 1) / bytesPerToken10 }
