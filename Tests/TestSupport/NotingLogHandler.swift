package import Logging

/// Notes what is logged.
package struct NotingLogHandler: LogHandler {
  private let notes: Gathered<String>
  package var metadata: Logger.Metadata = [:]
  package var logLevel = Logger.Level.trace

  package init(notes: Gathered<String>) { self.notes = notes }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    notes.add("\(event.level): \(event.message)\(event.metadata.map { " \($0)" } ?? "")")
  }
}
