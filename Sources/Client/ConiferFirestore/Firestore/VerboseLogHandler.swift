import Logging

/// Logs what another handler does, and in detail while that is asked for.
struct VerboseLogHandler: LogHandler {
  private var base: any LogHandler
  /// Whether to log in detail; asked for each message.
  private let isVerbose: @Sendable () -> Bool

  /// A logger that logs what another one does, and in detail while that is asked for.
  static func logger(
    _ logger: Logger, _ isVerbose: @escaping @Sendable () -> Bool
  ) -> Logger {
    Logger(label: logger.label) { _ in VerboseLogHandler(base: logger.handler, isVerbose: isVerbose)
    }
  }

  var logLevel: Logger.Level {
    get { isVerbose() ? min(base.logLevel, .debug) : base.logLevel }
    set { base.logLevel = newValue }
  }

  var metadata: Logger.Metadata {
    get { base.metadata }
    set { base.metadata = newValue }
  }

  var metadataProvider: Logger.MetadataProvider? {
    get { base.metadataProvider }
    set { base.metadataProvider = newValue }
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { base[metadataKey: key] }
    set { base[metadataKey: key] = newValue }
  }

  func log(event: LogEvent) { base.log(event: event) }
}
