package metrics

import "github.com/prometheus/client_golang/prometheus"

// notificationMetrics are about the notifications that people get.
type notificationMetrics struct {
	sent   *prometheus.CounterVec
	events *prometheus.CounterVec
}

func newNotificationMetrics() notificationMetrics {
	return notificationMetrics{
		sent:   counters("fairlead_notifications_total", "Messages to a notification target, by result.", "target", "result"),
		events: counters("fairlead_notifications_events_total", "Events sent to a notification target.", "target"),
	}
}

func (n *notificationMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{n.sent, n.events}
}

// Notified counts a message to a target, by which it was told so many events; err says why
// not of all.
func (m *Metrics) Notified(target string, events int, err error) {
	how := "ok"
	if err != nil {
		how = "error"
	}
	m.notifications.sent.WithLabelValues(target, how).Inc()
	m.notifications.events.WithLabelValues(target).Add(float64(events))
}
