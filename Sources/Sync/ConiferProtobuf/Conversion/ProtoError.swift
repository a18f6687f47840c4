#if GRPC
  import ConiferDocument

  /// What a message holds is invalid.
  package struct ProtoError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, as a sentence.
    package let message: String

    package init(_ message: String) { self.message = message }

    init(_ error: DocumentError) { message = error.message }

    /// The sentence.
    package var description: String { message }
  }

  /// Has an error of the model told as one of the message that it was read from.
  func checked<R>(_ body: () throws(DocumentError) -> R) throws(ProtoError) -> R {
    do throws(DocumentError) { return try body() } catch { throw ProtoError(error) }
  }
#endif
