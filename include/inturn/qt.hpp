/*
 * qt.hpp - Inturn on a Qt 6 event loop; C++17.
 *
 * SPDX-License-Identifier: MIT
 *
 *     c++ -std=c++17 -fPIC program.cpp $(pkg-config --cflags --libs \
 *         inturn Qt6Core)
 *
 * loop.h says what holds for all adapters. Here: the executor is a
 * QSocketNotifier on the executor's descriptor. It needs neither moc nor more
 * of Qt than Qt6Core. While work is called the notifier is off, so that a loop
 * that work runs, such as that of QDialog::exec, sleeps.
 */
#ifndef INTURN_QT_HPP
#define INTURN_QT_HPP

#include <inturn/loop.h>

#include <QAbstractEventDispatcher>
#include <QCoreApplication>
#include <QSocketNotifier>
#include <QThread>

/* For the adapter alone: belongs to the thread that has attached it. */
class inturn_qt_notifier final : public QSocketNotifier {
public:
  inturn_qt_notifier(inturn_executor of, int fd)
      : QSocketNotifier(fd, QSocketNotifier::Read), executor(of) {
    setEnabled(false);
    connect(this, &QSocketNotifier::activated, this, &inturn_qt_notifier::turn);
  }

  inturn_qt_notifier(const inturn_qt_notifier &) = delete;
  inturn_qt_notifier &operator=(const inturn_qt_notifier &) = delete;

  /* The thread may end, or the application go, with the notifier in it. */
  ~inturn_qt_notifier() override {
    if (attached)
      inturn_executor_detach(executor, "qt");
  }

  /* Begins to watch. */
  void begin() {
    attached = true;
    setEnabled(true);
    auto *application = QCoreApplication::instance();
    if (application != nullptr && application->thread() == thread())
      setParent(application);
    else
      connect(
          thread(), &QThread::finished, this, [this] { delete this; },
          Qt::DirectConnection);
  }

  /* Watches no more, and goes when it is in nobody's hands. */
  void end() {
    attached = false;
    setEnabled(false);
    if (!in_turn)
      deleteLater();
  }

private:
  void turn() {
    setEnabled(false);
    in_turn = true;
    const auto how = inturn_loop_turn(executor, &attached);
    in_turn = false;
    if (how != INTURN_LOOP_LEFT)
      setEnabled(true);
    else
      deleteLater(); /* not before: a loop inside work would do it there */
  }

  inturn_executor executor;
  bool attached = false;
  bool in_turn = false;
};

/* Attaches an executor to the calling thread's event loop.
   Statuses: those of inturn_executor_attach and inturn_executor_fd;
   E_UNSUPPORTED, too, on a thread without a Qt event dispatcher: create the
   QCoreApplication, or start the QThread, first.
   Threads: the one that runs the loop.
   Ownership: the thread keeps the notifier until the detach or its own end, the
   main thread until the application's. */
inline inturn_status inturn_qt_attach(inturn_executor executor) {
  int fd = -1;
  if (QAbstractEventDispatcher::instance() == nullptr)
    return INTURN_E_UNSUPPORTED;
  inturn_status status = inturn_executor_fd(executor, &fd);
  if (status != INTURN_OK)
    return status;
  auto *notifier = new inturn_qt_notifier(executor, fd);
  status = inturn_executor_attach(executor, "qt", notifier);
  if (status == INTURN_OK)
    notifier->begin();
  else
    delete notifier;
  return status;
}

/* Takes inturn_qt_attach back.
   Statuses: those of inturn_executor_detach; E_WRONG_THREAD, too, on another
   thread than the one that attached it.
   Threads: the one that attached it; also from inside work. */
inline inturn_status inturn_qt_detach(inturn_executor executor) {
  void *data = nullptr;
  inturn_status status = inturn_executor_get_attached(executor, "qt", &data);
  if (status != INTURN_OK)
    return status;
  auto *notifier = static_cast<inturn_qt_notifier *>(data);
  if (notifier->thread() != QThread::currentThread())
    return INTURN_E_WRONG_THREAD;
  status = inturn_executor_detach(executor, "qt");
  if (status == INTURN_OK)
    notifier->end();
  return status;
}

#endif /* INTURN_QT_HPP */
