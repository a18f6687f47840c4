import Conifer
import ConiferDocument
import ConiferDocumentServer
import ConiferFirestore
import ConiferKeyValue
import ConiferTree

/// The failure of a command: a stable code, an exit status and one line with the remedy.
struct Failure: Error, CustomStringConvertible {
  let code: String
  let status: ToolStatus
  let message: String

  init(_ code: String, _ status: ToolStatus, _ message: String) {
    self.code = code
    self.status = status
    self.message = message
  }

  /// A mistake in what the command was asked to do.
  static func usage(_ message: String) -> Failure { Failure("usage", .usage, message) }

  /// Something that was named and is not there.
  static func missing(_ code: String, _ message: String) -> Failure {
    Failure(code, .missing, message)
  }

  /// The code and the message in one line.
  var description: String {
    "\(code): \(message)".split(whereSeparator: \.isNewline).joined(separator: " ").shown
  }

  /// `{"error":{…}}` in one line.
  var json: String {
    Report.object([
      (
        "error",
        .object([
          ("code", .string(code)), ("exit", .integer(Int(status.rawValue))),
          ("message", .string(message)),
        ])
      )
    ]).compact
  }
}

extension Failure {
  /// The failure that an error of the layers below means; nil for the argument parser's errors.
  init?(_ error: any Error) {
    switch error {
    case let failure as Failure: self = failure
    case let error as StoreError: self.init(store: error)
    case let error as TreeError:
      let status: ToolStatus = error.code == .invalidQuery ? .usage : .badData
      self.init(error.code.rawValue, status, error.message)
    case let error as DocumentError:
      let status: ToolStatus = error.code == .invalidQuery ? .usage : .badData
      self.init(error.code.rawValue, status, error.message)
    case let error as JSONError: self.init(json: error)
    case let error as DatabaseError:
      self.init(error.code.rawValue, .internal, error.message)
    case let error as FirestoreError: self.init(error.code.name, .internal, error.message)
    case let error as DocumentServerError: self.init(error.code, .internal, error.message)
    default: return nil
    }
  }

  private init(json error: JSONError) {
    let below = error.cause.flatMap { Failure($0) }
    if let below, error.code == .source || error.code == .sink {
      self = below
      return
    }
    let place = error.line > 0 ? "line \(error.line), column \(error.column): " : ""
    self.init(below?.code ?? error.code.rawValue, .badData, place + error.message)
  }

  private init(store error: StoreError) {
    let message = error.message + (error.cause.map { " (\($0))" } ?? "")
    self.init(error.code.rawValue, Self.status(error.code), message)
  }

  private static func status(_ code: StoreError.Code) -> ToolStatus {
    switch code {
    case .busy: .busy
    case .denied, .deviceLocked, .wrongKey: .denied
    case .full: .full
    case .io, .poisoned: .io
    case .damaged: .damaged
    case .newerFormat, .foreign, .missing: .foreign
    case .tooLarge: .badData
    case .invalid, .unsupported: .usage
    default: .internal
    }
  }
}
