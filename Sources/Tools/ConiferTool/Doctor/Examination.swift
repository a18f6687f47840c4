import ConiferKeyValue
import ConiferStorage
import ConiferTree

/// What can be seen of a store, whatever is wrong with it, and what a copy of its files tells when it is opened.
///
/// The store itself is only read, and so is the file of its owner.
struct Examination {
  let address: StoreAddress
  /// The absolute directory without links.
  let directory: String
  /// Who has it open; nil when that could not be found out.
  var owner: StoreOwner?
  var files: [(name: String, bytes: Int)] = []
  /// Whether this process may change the store, as opening it does.
  var isWritable = true
  /// The bytes that are free on its volume; nil when the system does not say.
  var freeSpace: Int?
  /// What the mark of synced commits says.
  var mark: String?
  /// Directories beside it with what was left of a salvage or a migration.
  var beside: [Beside] = []
  /// Why it could not be opened or looked at.
  var refusal: Failure?
  /// Nil where no copy was checked.
  var verification: StoreVerification?
  /// What the open copy told of itself; empty where it told nothing.
  var inside = Node.empty
  /// Why it told nothing although it was checked.
  var silence: String?

  /// A directory beside a store.
  enum Beside {
    /// The files of a damaged store that a new one has replaced.
    case damaged(String)
    /// What a salvage that was killed left.
    case salvage(String)
    /// A store that was copied into another one.
    case migrated(String)
  }

  init(of address: StoreAddress) {
    self.address = address
    directory = address.absolute
  }

  /// Looks at the store.
  ///
  /// - Throws: what is not about the store, such as a process that cannot be started.
  static func of(_ address: StoreAddress, _ console: Console) throws -> Examination {
    var examination = Examination(of: address)
    examination.lookBeside()
    do {
      try examination.lookAtFiles()
      try examination.open(console)
    } catch {
      guard let failure = Failure(error) else { throw error }
      examination.refusal = failure
    }
    return examination
  }

  private mutating func lookBeside() {
    for path in (try? address.configuration().setAside()) ?? [] { beside.append(.damaged(path)) }
    if Platform.exists(directory + ".salvage") { beside.append(.salvage(directory + ".salvage")) }
    if Platform.exists(directory + ".migrated") {
      beside.append(.migrated(directory + ".migrated"))
    }
  }

  private mutating func lookAtFiles() throws {
    guard !Platform.isRegularFile(directory) else {
      throw Failure("foreign", .foreign, "\(directory) is a file, and a store is a directory.")
    }
    guard try address.isPresent() else {
      throw Failure.missing("no-store", "There is no store at \(directory).")
    }
    files = try ScratchCopy.files(directory)
    isWritable = ([directory] + files.map { "\(directory)/\($0.name)" })
      .allSatisfy(Platform.isWritable)
    freeSpace = Platform.freeSpace(at: directory)
    mark = SyncMark.words(in: directory)
  }

  /// Opens a copy, unless somebody has the store open or is still making it.
  private mutating func open(_ console: Console) throws {
    let directory = self.directory
    let copy = try StoreOwner.look(in: directory) { owner -> ScratchCopy? in
      self.owner = owner
      guard !owner.isOpen else { return nil }
      if let lines = try UnfinishedStore.lines(directory) {
        throw Failure(
          "unfinished", .foreign,
          "The store is not whole: \(lines.first ?? "wait for whoever makes it").")
      }
      return try Self.copy(of: directory)
    }
    guard let copy else { return }
    defer { copy.remove() }
    verification = try StoreVerification.run(address, at: copy.directory, console)
    try ask(copy.directory)
  }

  private static func copy(of directory: String) throws -> ScratchCopy {
    do {
      return try ScratchCopy(of: directory)
    } catch {
      guard let failure = Failure(error), failure.status == .full else { throw error }
      throw Failure("not-checked", .full, failure.message)
    }
  }

  /// Has a process of its own open the copy. Damaged records are set aside in it, as an app's cache would.
  private mutating func ask(_ copy: String) throws {
    guard let verification, verification.death == nil, !verification.isPartial else { return }
    let role = verification.isSound ? StoreRole.authority : .cache
    let url = address.url(at: copy, [("budget", "unlimited"), ("role", role.rawValue)])
    let key = address.keyFile.map { ["--key-file", $0] } ?? []
    switch try Worker.run(["doctor-worker", "--store", url] + key, { _ in }) {
    case .result(let told): inside = told
    case .failure(let failure):
      silence = failure.description.replacing(copy, with: address.directory)
    case .died(let how): silence = "the engine died (\(how))"
    }
  }
}
