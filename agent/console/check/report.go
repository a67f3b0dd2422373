package check

import (
	"io"
	"strings"

	"charm.land/lipgloss/v2"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/fleet"
)

// A State says how one thing is.
type State string

// The states.
const (
	OK      State = "OK"
	Fail    State = "FAIL"
	Unknown State = "UNKNOWN" // it could not be found out
)

// A Line is one thing that was looked at.
type Line struct {
	Check   string `json:"check"`             // "credentials", "quota"
	Subject string `json:"subject,omitempty"` // a repository, or clusters
	State   State  `json:"state"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // what to do
}

// A Report is what was looked at, in that order.
type Report struct {
	Lines []Line `json:"checks"`
}

// Note adds a line. It is OK without err, unknown where err does not tell, and fails
// otherwise.
func (r *Report) Note(check, subject, text string, err error) {
	l := Line{Check: check, Subject: subject, State: OK, Message: text}
	if err != nil {
		l.State, l.Message, l.Hint = stateOf(err), err.Error(), hint(err)
	}
	r.Lines = append(r.Lines, l)
}

// Unreachable adds a line for what is there to be reached: not to reach it is a failure.
func (r *Report) Unreachable(check, subject string, err error) {
	r.Lines = append(r.Lines, Line{Check: check, Subject: subject, State: Fail, Message: err.Error(), Hint: hint(err)})
}

func stateOf(err error) State {
	switch fleet.KindOf(err) {
	case fleet.Unknown, fleet.Unavailable, fleet.Unanswered:
		return Unknown
	}
	return Fail
}

// hint says what people do about errors of a kind, unless err says it.
func hint(err error) string {
	if strings.HasSuffix(err.Error(), ")") {
		return ""
	}
	switch fleet.KindOf(err) {
	case fleet.Unauthorized:
		return "correct the credential, or give it the right"
	case fleet.Exhausted:
		return "have the quota raised, or remove what is not needed"
	case fleet.Unavailable, fleet.Unanswered:
		return "is the address right, the service up, and reached from here?"
	case fleet.NotFound:
		return "correct the name, or make it"
	}
	return ""
}

// Count returns how many lines have the state.
func (r *Report) Count(s State) int {
	n := 0
	for _, l := range r.Lines {
		if l.State == s {
			n++
		}
	}
	return n
}

// Problems returns r with the lines alone that are not OK.
func (r *Report) Problems() *Report {
	out := &Report{Lines: []Line{}}
	for _, l := range r.Lines {
		if l.State != OK {
			out.Lines = append(out.Lines, l)
		}
	}
	return out
}

// Write shows r.
func (r *Report) Write(w io.Writer, form output.Format) error {
	t := output.Table{Header: []string{"STATE", "CHECK", "SUBJECT", "MESSAGE"}, Style: style}
	for _, l := range r.Lines {
		message := l.Message
		if l.Hint != "" {
			message += " (" + l.Hint + ")"
		}
		t.Add(string(l.State), l.Check, l.Subject, message)
	}
	return t.Write(w, form, r)
}

// style colours a row by its state.
func style(row []string) lipgloss.Style {
	colours := map[string]string{string(OK): "2", string(Fail): "1", string(Unknown): "3"}
	st := lipgloss.NewStyle()
	if c, ok := colours[row[0]]; ok {
		return st.Foreground(lipgloss.Color(c))
	}
	return st
}
