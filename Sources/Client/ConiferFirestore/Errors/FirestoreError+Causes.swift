package import ConiferDocument
package import ConiferEngine
package import ConiferKeyValue
package import ConiferWire

extension FirestoreError {
  /// The error for a value, a path, a write or a query that was refused; it holds the same words.
  package init(_ error: DocumentError) {
    self.init(.invalidArgument, error.message, cause: error.code.rawValue)
  }

  /// The error for what the server answered.
  package init(_ error: StatusError) {
    self.init(Code(rawValue: error.code.rawValue) ?? .unknown, error.message)
  }

  /// The error for what a store refused.
  ///
  /// - Parameters:
  ///   - error: the store's error.
  ///   - what: what was not done, as the beginning of a sentence.
  package init(_ error: StoreError, _ what: String = "The storage failed") {
    self.init(DatabaseError(error, what))
  }

  /// The error for what a receipt or the engine's storage says.
  package init(_ error: DatabaseError) {
    let words = [error.message, error.remedy ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
    self.init(Code(error.code), words, cause: error.cause)
  }

  /// The error for what a type's own coding threw; one of the client stays as it is.
  init(coding error: any Error, _ what: String) {
    if let known = error as? FirestoreError {
      self = known
      return
    }
    let failure = CodingFailure(error)
    let place = failure.path.joined(separator: ".")
    self.init(
      .invalidArgument,
      "The data cannot be \(what): at '\(place)', \(failure.words). Make the type fit the data, or the "
        + "data the type.", cause: "\(error)")
  }
}

extension DatabaseError {
  /// The error in the form that receipts hold; `FirestoreError` has it back as it was.
  package init(_ error: FirestoreError) {
    self.init(Code(rawValue: error.code.name), error.message, remedy: "", cause: error.cause)
  }
}

extension FirestoreError.Code {
  /// The name of the code, as gRPC spells it in lower case.
  package var name: String {
    "\(self)".reduce(into: "") { name, letter in
      if self != .OK, letter.isUppercase { name += "-" }
      name += letter.lowercased()
    }
  }

  /// The code that is nearest to one that all clients share.
  package init(_ code: DatabaseError.Code) {
    if let same = Self.allCases.first(where: { $0.name == code.rawValue }) {
      self = same
      return
    }
    self =
      switch code {
      case .storageFull: .resourceExhausted
      case .storageDamaged: .dataLoss
      case .storageBusy, .storageMissing, .storageFailure, .disconnected: .unavailable
      case .closed: .failedPrecondition
      case .unknownWrite: .notFound
      case .discarded, .writeCanceled: .cancelled
      case .tooLarge, .coding, .invalidPath, .invalidValue, .invalidQuery, .invalidConfiguration:
        .invalidArgument
      case .expiredToken, .invalidToken: .unauthenticated
      default: .unknown
      }
  }
}
