// Package alerts tests how people watch Fairlead: the alerts, their runbooks and the
// dashboards of the chart. Some tests read these files, some run promtool, and
// TestOnPrometheus has a real Prometheus and Alertmanager watch real agents in trouble.
package alerts
