/// The project id and the database id by which a database of documents is named.
public struct DatabaseID: Sendable, CustomStringConvertible {
  /// The project's id.
  public let project: String
  /// The database's id, `(default)` unless it was named.
  public let database: String

  /// A database.
  public init(project: String, database: String = "(default)") {
    self.project = project
    self.database = database
  }

  /// Orders by project, then by database: negative, zero or positive.
  static func compare(_ a: DatabaseID, _ b: DatabaseID) -> Int {
    let order = a.project.compareUTF8(b.project)
    return order != 0 ? order : a.database.compareUTF8(b.database)
  }

  /// The name of the database's documents.
  public var description: String { "projects/\(project)/databases/\(database)" }
}

extension DatabaseID: Hashable {
  /// Whether both have the same bytes.
  public static func == (a: DatabaseID, b: DatabaseID) -> Bool { compare(a, b) == 0 }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    project.hashBytes(into: &hasher)
    database.hashBytes(into: &hasher)
  }
}

/// The full name of a document, made of its database and its path. It is what a reference holds.
public final class DocumentName: Sendable, CustomStringConvertible {
  /// The document's database.
  public let database: DatabaseID
  /// The document's path.
  public let path: DocumentPath

  /// A name.
  public init(_ path: DocumentPath, in database: DatabaseID) {
    self.database = database
    self.path = path
  }

  /// The name of a text.
  ///
  /// - Parameter text: `projects/{project}/databases/{database}/documents/{path}`.
  /// - Throws: `invalidPath` for any other form.
  public convenience init(_ text: String) throws(DocumentError) {
    // The text is split by bytes: a slash before a combining mark is still a slash.
    let parts = text.utf8.split(
      separator: UInt8(ascii: "/"), maxSplits: 5, omittingEmptySubsequences: false)
    guard parts.count == 6, parts[0].elementsEqual("projects".utf8),
      parts[2].elementsEqual("databases".utf8), parts[4].elementsEqual("documents".utf8),
      !parts[1].isEmpty, !parts[3].isEmpty
    else {
      throw DocumentError(
        .invalidPath,
        "'\(text)' names no document. A name is projects/P/databases/D/documents/PATH.")
    }
    self.init(
      try DocumentPath(String(Substring(parts[5]))),
      in: DatabaseID(
        project: String(Substring(parts[1])), database: String(Substring(parts[3]))))
  }

  /// Orders by database, then by path: negative, zero or positive.
  static func compare(_ a: DocumentName, _ b: DocumentName) -> Int {
    if a === b { return 0 }
    let order = DatabaseID.compare(a.database, b.database)
    return order != 0 ? order : DocumentPath.compare(a.path, b.path)
  }

  /// The name's text.
  public var description: String { "\(database)/documents/\(path)" }
}

extension DocumentName: Hashable {
  /// Whether database and path are the same.
  public static func == (a: DocumentName, b: DocumentName) -> Bool { compare(a, b) == 0 }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(database)
    hasher.combine(path)
  }
}
