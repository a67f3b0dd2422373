package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// pullRules say what refusals of a pull mean. Within a pull that began, the daemon has words alone.
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var pullRules = []transport.Rule{
	{Statuses: []int{http.StatusUnauthorized, http.StatusForbidden}, Kind: fleet.Unauthorized},
	{Words: regexp.MustCompile(`(?i)unauthorized|denied|authentication required|no basic auth`), Kind: fleet.Unauthorized},
	{Statuses: []int{http.StatusNotFound}, Kind: fleet.Invalid},
	{Words: regexp.MustCompile(`(?i)manifest unknown|not found|no matching manifest`), Kind: fleet.Invalid},
	{Statuses: []int{5}, Kind: fleet.Unavailable},
}

// quiet is how long a daemon may say nothing of a pull.
const quiet = 5 * time.Minute

var errQuiet = errors.New("the daemon said nothing for 5 minutes")

// Pull has the daemon pull an image, and returns when the host has it. progress is called with the bytes of its
// layers that are there, and those that the daemon knows of. The error has the daemon's own words. Its kind is
// Unauthorized or Invalid if the registry refuses the image, and otherwise Unavailable.
func (c *Client) Pull(ctx context.Context, image string, progress func(done, all int64)) error {
	query := url.Values{"fromImage": {image}}
	if !strings.ContainsAny(image[strings.LastIndexByte(image, '/')+1:], ":@") {
		query.Set("tag", "latest") // without a tag, Docker pulls all of them
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(quiet, func() { cancel(errQuiet) })
	defer silence.Stop()
	body, err := c.open(ctx, http.MethodPost, "/images/create", query, nil)
	if err != nil {
		return pullError(ctx, err)
	}
	defer body.Close()
	layers := make(map[string][2]int64)
	for d := json.NewDecoder(body); ; {
		var m struct {
			ID, Status, Error string
			ErrorDetail       struct{ Message string }
			ProgressDetail    struct{ Current, Total int64 }
		}
		switch err := d.Decode(&m); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return pullError(ctx, err)
		}
		silence.Reset(quiet)
		if words := cmp.Or(m.ErrorDetail.Message, m.Error); words != "" {
			text, _ := json.Marshal(map[string]string{"message": words}) // texts can always be written
			return pullError(ctx, refusal(http.MethodPost, http.StatusInternalServerError, text))
		}
		switch p := m.ProgressDetail; {
		case m.Status == "Downloading" && p.Total > 0:
			layers[m.ID] = [2]int64{p.Current, p.Total}
		case m.Status == "Download complete" || m.Status == "Pull complete":
			layers[m.ID] = [2]int64{layers[m.ID][1], layers[m.ID][1]}
		default:
			continue
		}
		var done, all int64
		for _, l := range layers {
			done, all = done+l[0], all+l[1]
		}
		progress(done, all)
	}
}

// pullError returns err of a pull with its kind.
func pullError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errQuiet) {
		err = cause
	}
	kind := fleet.Unavailable
	if e, ok := errors.AsType[*refusalError](err); ok {
		kind, _ = transport.Classify(pullRules, e.Answer)
	}
	return &fleet.Error{Kind: kind, Err: transport.Plain(err)}
}
