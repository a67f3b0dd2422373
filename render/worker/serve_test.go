package worker

import (
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/render/kustomize"
)

// Safety: what is built is told to its end before the next build begins. A parent has an answer
// before the write that brought it returns, and asks again: two at once would mix their answers.
func TestOneAnswerAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests, ended, done := make(chan request), make(chan error, 1), make(chan error, 1)
		telling := false
		var told []string
		go func() {
			done <- serve(kustomize.New(kustomize.DefaultLimits()), requests, ended, func(a answer) error {
				if telling {
					t.Errorf("%s is told while another answer is", a.Overlay)
				}
				telling = true
				told = append(told, a.Overlay)
				time.Sleep(time.Second) // the parent has it, and the write has not returned
				telling = false
				return nil
			})
		}()
		var want []string
		for i := range 3 {
			dir := fmt.Sprintf("clusters/c%d", i)
			want = append(want, dir)
			requests <- request{Seconds: 3600, Input: kustomize.Input{
				Overlay: dir, File: dir + "/kustomization.yaml", Files: map[string][]byte{dir + "/kustomization.yaml": []byte("namePrefix: a\n")},
			}}
		}
		time.Sleep(time.Minute)
		ended <- io.EOF
		if err := <-done; err != nil || fmt.Sprint(told) != fmt.Sprint(want) {
			t.Errorf("told %q, %v, want %q", told, err, want)
		}
	})
}
