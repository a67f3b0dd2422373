// Package alerts tests what people watch Fairlead with: the alerts, their
// runbooks and the dashboards of the chart. Some tests read them alone, some run
// promtool, and TestOnPrometheus lets a real Prometheus and Alertmanager watch
// real agents to which bad things happen.
package alerts
