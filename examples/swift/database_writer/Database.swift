import CSQLite

/// A connection to SQLite without a lock of its own.
final class Database: @unchecked Sendable {
  // Safe to share: one operation, or one thread, uses it at a time.

  struct Failure: Error { let message: String }

  private var connection: OpaquePointer?
  private var insertion: OpaquePointer?

  /// Opens a file, or a temporary database for "".
  init(_ file: String) throws {
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    try check(sqlite3_open_v2(file, &connection, flags, nil))
    try run("DROP TABLE IF EXISTS log; BEGIN; CREATE TABLE log (producer INTEGER, number INTEGER)")
    try check(
      sqlite3_prepare_v2(connection, "INSERT INTO log VALUES (?, ?)", -1, &insertion, nil))
  }

  deinit {
    sqlite3_finalize(insertion)
    sqlite3_close(connection)
  }

  func insert(_ producer: Int, _ number: Int) throws {
    try check(sqlite3_bind_int64(insertion, 1, Int64(producer)))
    try check(sqlite3_bind_int64(insertion, 2, Int64(number)))
    try check(sqlite3_step(insertion), SQLITE_DONE)
    try check(sqlite3_reset(insertion))
  }

  func run(_ sql: String) throws { try check(sqlite3_exec(connection, sql, nil, nil, nil)) }

  /// The first row of a query's result.
  func number(_ query: String) throws -> Int {
    var statement: OpaquePointer?
    try check(sqlite3_prepare_v2(connection, query, -1, &statement, nil))
    defer { sqlite3_finalize(statement) }
    try check(sqlite3_step(statement), SQLITE_ROW)
    return Int(sqlite3_column_int64(statement, 0))
  }

  private func check(_ result: Int32, _ expected: Int32 = SQLITE_OK) throws {
    if result != expected { throw Failure(message: String(cString: sqlite3_errmsg(connection))) }
  }
}
