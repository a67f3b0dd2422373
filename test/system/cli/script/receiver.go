package script

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// receiver serves an address that takes CloudEvents: receiver FOLDER writes the address to
// FOLDER/address, as --notification-credentials has it, and each event to the file events
// as a line: type, subject, id, message. It answers 503 while a file away is there.
func receiver(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: receiver FOLDER")
	}
	var mu sync.Mutex
	events, away := ts.MkAbs("events"), ts.MkAbs("away")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if _, err := os.Stat(away); err == nil {
			http.Error(w, "the chat is away", http.StatusServiceUnavailable)
			return
		}
		var e struct {
			ID, Type, Subject string
			Data              struct{ Message string }
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || json.NewDecoder(bytes.NewReader(body)).Decode(&e) != nil {
			http.Error(w, "this is no event", http.StatusBadRequest)
			return
		}
		f, err := os.OpenFile(events, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(e.Type + " " + e.Subject + " " + e.ID + " " + e.Data.Message + "\n")
			f.Close()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	ts.Defer(bounded("the receiver", script{ts}.Log, web.Close))
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(os.WriteFile(dir+"/address", []byte(web.URL), 0o600))
}
