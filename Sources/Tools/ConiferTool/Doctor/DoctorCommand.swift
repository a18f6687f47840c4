import ArgumentParser
import ConiferKeyValue
import ConiferStorage

/// Says what is wrong with a store, and what helps.
struct DoctorCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Say what is wrong with a store and what helps; change nothing.",
    discussion: """
      It looks at the files, the owner's lock, the mark of synced commits and the disk, copies the files into the \
      directory for temporary files, and there verifies the copy, reads its queue, reports of damage, indexes and \
      sizes, and tidies it to see what that would give back. It works where opening fails: the reason is a finding. \
      A store that a process has open is not checked. While the files are copied, nobody else can open the store.

      Ends with 0 when nothing needs care, and with 2 otherwise.

      Examples:
        conifer doctor sqlite:///var/data
        conifer doctor /var/data
        conifer doctor /var/data --hide-values > report.txt
      """)

  @Argument(
    help: "The store's URL, or its directory; CONIFER_STORE names it otherwise.",
    completion: .directory)
  var place: String?
  @Option(help: "The store's URL, as other commands take it.")
  var store: String?
  @Option(
    help: "The file with the store's key, if it is encrypted; CONIFER_KEY_FILE names it otherwise.",
    completion: .file())
  var keyFile: String?
  @Flag(
    help: """
      Replace names and places of the data, and the store's path, by numbers and their lengths, so that the report may \
      be given to somebody else.
      """)
  var hideValues = false
  @Flag(help: "Print JSON, for programs.")
  var json = false

  func validate() throws {
    guard place == nil || store == nil else {
      throw ValidationError("Name one store: as an argument, or by --store.")
    }
  }

  func run(_ console: Console) async throws {
    let examination = try Examination.of(address(console), console)
    let values = HiddenValues(hides: hideValues)
    let diagnosis = Diagnosis(examination, values, now: Platform.now())
    for line in json ? [diagnosis.json.compact] : diagnosis.lines { try console.print(line) }
    guard diagnosis.cares.isEmpty else {
      throw Failure(
        "needs-care", .care,
        "The store needs care: \(diagnosis.cares.map(\.code).joined(separator: ", ")).")
    }
  }

  /// The store that is named; of a directory, the kind is what its files say.
  private func address(_ console: Console) throws -> StoreAddress {
    var options = StoreOptions()
    (options.store, options.tree, options.keyFile) = (place ?? store, nil, nil)
    let text = try options.url(console)
    let key = KeyFile.path(keyFile, console)
    try KeyFile.requireRereadable(key)
    guard !text.contains("://") else { return try StoreAddress(text, keyFile: key, console) }
    let kind = try Self.kind(in: text)
    return try StoreAddress(
      "\(kind.name)://\(StoreAddress.escaped(text))", keyFile: key, console)
  }

  /// The kind of the store in a directory; the first kind where nothing tells.
  private static func kind(in directory: String) throws -> StorageKind {
    let kinds = Tool.registry.kinds.filter { !$0.files.isEmpty }
    let recorded = try? OwnerLock.kind(in: directory)
    let found =
      kinds.first { $0.name == recorded }
      ?? kinds.first { kind in
        kind.files.contains { Platform.exists("\(directory)/\($0)") }
      }
    guard let kind = found ?? kinds.first else {
      throw Failure.usage("This program has no kind of store that keeps files: name a URL.")
    }
    return kind
  }
}
