package simulation

import (
	"fmt"
	"os"
	"time"

	"fairlead.dev/fleet"
)

// push makes what is wished for the newest revision.
func (l *life) push(why string) {
	rev := l.repository.push(files(l.wishes, l.class, l.waves))
	all := make([]wish, len(l.wishes))
	l.mu.Lock()
	for i, w := range l.wishes {
		all[i] = w.copied()
		l.ended[key(i)] = l.ended[key(i)] || w.deleted
	}
	l.history, l.classes = append(l.history, all), append(l.classes, l.class)
	l.excuse()
	l.forgetSizes()
	l.mu.Unlock()
	l.logf("push %s: %s", rev.Short(), why)
}

// said returns what Git said of cluster k in revision rev.
func (l *life) said(rev fleet.Revision, k fleet.Key) wish {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, wishes := range l.history {
		for i, w := range wishes {
			if revision(n+1).Digest == rev.Digest && key(i) == k {
				return w
			}
		}
	}
	return wish{}
}

// pausedFrom reports whether cluster k is paused in revision from and in every one after it, up to
// latest: one that waits for its turn at an older definition is resumed by a newer one at once.
func (l *life) pausedFrom(from, latest fleet.Revision, k fleet.Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	paused := false
	for n, wishes := range l.history {
		rev := revision(n + 1)
		if rev.Digest != from.Digest && (rev.Digest < from.Digest || rev.Digest > latest.Digest) {
			continue
		}
		for i, w := range wishes {
			switch {
			case key(i) != k, w.gone, w.broken:
			case !w.paused:
				return false
			default:
				paused = true
			}
		}
	}
	return paused
}

func (l *life) logf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := fmt.Sprintf("%16s ", time.Since(l.began)) + fmt.Sprintf(format, args...)
	l.log = append(l.log, line)
	if *watch {
		fmt.Fprintln(os.Stdout, line)
	}
}

// violate ends the life: something happened that never may.
func (l *life) violate(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.logf("VIOLATION %s", text)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure == "" {
		l.failure = text
	}
}

func (l *life) failed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure != ""
}
