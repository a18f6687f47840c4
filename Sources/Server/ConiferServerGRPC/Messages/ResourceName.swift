#if GRPC
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferProtobuf
  import ConiferWire

  /// What a request names: a database, all its documents, or one of them.
  struct ResourceName: Sendable, Hashable {
    let database: DatabaseID
    /// The document; nil for the database, or all its documents.
    let document: DocumentPath?

    /// A database: `projects/P/databases/D`.
    ///
    /// - Throws: `invalidArgument` for another name.
    init(database text: String) throws(StatusError) {
      let parts = Self.parts(text)
      guard parts.count == 4 else { throw Self.malformed(text, "projects/P/databases/D") }
      self = try Self(parts, text)
    }

    /// All documents of a database, `projects/P/databases/D/documents`, or one with its path behind that.
    ///
    /// - Throws: `invalidArgument` for another name.
    init(parent text: String) throws(StatusError) {
      let parts = Self.parts(text)
      guard parts.count == 5 || parts.count == 6, parts[4] == "documents" else {
        throw Self.malformed(text, "projects/P/databases/D/documents, and the path of a document")
      }
      self = try Self(parts, text)
    }

    /// A document.
    ///
    /// - Throws: `invalidArgument` for another name.
    static func document(
      _ text: String
    ) throws(StatusError) -> (database: DatabaseID, path: DocumentPath) {
      let name = try ResourceName(parent: text)
      guard let path = name.document else {
        throw malformed(text, "projects/P/databases/D/documents/PATH")
      }
      return (name.database, path)
    }

    private init(_ parts: [String], _ text: String) throws(StatusError) {
      guard parts[0] == "projects", parts[2] == "databases" else {
        throw Self.malformed(text, "projects/P/databases/D")
      }
      database = try DatabaseID(project: parts[1], served: parts[3])
      guard parts.count == 6 else {
        document = nil
        return
      }
      guard parts[5].utf8.first != UInt8(ascii: "/"), parts[5].utf8.last != UInt8(ascii: "/") else {
        throw StatusError(
          .invalidArgument, "\"\(text.prefix(200))\" has an empty id: remove the slash.")
      }
      do throws(DocumentError) { document = try DocumentPath(parts[5]) } catch {
        throw StatusError(.invalidArgument, error.message)
      }
    }

    /// The parts of a name, the last one with all slashes behind the fifth. By bytes: a slash before a combining mark is
    /// a slash.
    private static func parts(_ text: String) -> [String] {
      text.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 5, omittingEmptySubsequences: false)
        .map { String(Substring($0)) }
    }

    private static func malformed(_ text: String, _ form: String) -> StatusError {
      StatusError(.invalidArgument, "\"\(text.prefix(200))\" is not of the form \(form).")
    }
  }

  extension DocumentPath {
    /// The document of a name, which is of the request's database.
    static func requested(_ text: String, in database: DatabaseID) throws(StatusError)
      -> DocumentPath
    {
      try StatusError.asInvalidArgument { () throws(ProtoError) in
        try DocumentPath(name: text, in: database)
      }
    }
  }
#endif
